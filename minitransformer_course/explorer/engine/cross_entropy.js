// The summed loss -sum_i q_i log p_i over the targets (T,) that are not padding; p: softmax of the logits (T, V).
// q puts 1 - smoothing on the target and spreads `smoothing` evenly over all V tokens.
class CrossEntropy extends Layer {
  forward(logits, targets, smoothing) {
    const p = like(logits, a => a), size = logits.shape[1], losses = [];
    rows(p).forEach((row, t) => {
      const peak = Math.max(...row);
      const logTotal = peak + Math.log(row.reduce((sum, a) => sum + Math.exp(a - peak), 0));
      const mean = row.reduce((a, b) => a + b) / size;
      losses.push(targets[t] === PAD ? 0 : logTotal - (1 - smoothing) * row[targets[t]] - smoothing * mean);
      row.forEach((a, i) => { row[i] = Math.exp(a - logTotal); });
    });
    return [losses.reduce((a, b) => a + b), { logits, p, targets, smoothing }];
  }

  // dlogits = (p - q) dloss, and 0 at padding.
  backward(dloss, { p, targets, smoothing }) {
    const dlogits = like(p, a => (a - smoothing / p.shape[1]) * dloss);
    rows(dlogits).forEach((row, t) => {
      if (targets[t] === PAD) row.fill(0);
      else row[targets[t]] -= (1 - smoothing) * dloss;
    });
    return dlogits;
  }

  terms({ logits, p, targets, smoothing }, dloss) {
    const size = p.shape[1], of = i => targets[Math.floor(i / size)];
    const q = i => smoothing / size + (i % size === of(i) ? 1 - smoothing : 0);
    const minusLog = i => [p, i, a => -Math.log(a), a => `(-log ${short(a)})`];
    return { y: () => [...p.data.keys()].flatMap(i => of(i) !== PAD && q(i) ? [[q(i), minusLog(i)]] : []),
             p: i => softmaxTerms(logits, p, i), dx: i => of(i) === PAD ? [] : [[dloss, [p, i]], [-dloss, q(i)]] };
  }
}
