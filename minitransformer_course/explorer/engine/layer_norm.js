// y = gamma * n + beta with n = (x - mean) / sqrt(variance + epsilon), over the last axis of x (T, d_model).
class LayerNorm extends Layer {
  constructor(model, path) {
    super(model, path);
    this.gamma = model.parameters[`${path}.gamma`];
    this.beta = model.parameters[`${path}.beta`];
    this.epsilon = model.config.norm_epsilon;
  }

  forward(x) {
    const normed = like(x, a => a), inverse = [], d = x.shape[1];
    for (const row of rows(normed)) {
      const mean = row.reduce((a, b) => a + b) / d;
      row.forEach((a, i) => { row[i] = a - mean; });
      inverse.push(1 / Math.sqrt(row.reduce((sum, a) => sum + a * a, 0) / d + this.epsilon));
      row.forEach((a, i) => { row[i] = a * inverse.at(-1); });
    }
    const gamma = this.gamma.data.data, beta = this.beta.data.data;
    return [like(normed, (n, i) => gamma[i % d] * n + beta[i % d]), { x, normed, inverse }];
  }

  // dx = (dn - mean(dn) - n mean(dn n)) / sqrt(variance + epsilon) with dn = dy gamma: every x moves the mean and the variance.
  backward(dy, { normed, inverse }) {
    const d = dy.shape[1], gamma = this.gamma.data.data;
    this.gamma.add(sumOfRows(like(dy, (a, i) => a * normed.data[i])));
    this.beta.add(sumOfRows(dy));
    const dx = like(dy, (a, i) => a * gamma[i % d]);
    rows(dx).forEach((dn, t) => {
      const n = normed.data.subarray(t * d, (t + 1) * d);
      const throughMean = dn.reduce((a, b) => a + b) / d;
      const throughVariance = dn.reduce((sum, a, i) => sum + a * n[i], 0) / d;
      dn.forEach((a, i) => { dn[i] = inverse[t] * (a - throughMean - n[i] * throughVariance); });
    });
    return dx;
  }

  terms({ x, normed, inverse }, dy) {
    const { gamma: { data: gamma }, beta: { data: beta } } = this, d = x.shape[1], of = i => inverse[Math.floor(i / d)];
    const minusMean = (i, ...more) => [[of(i), ...more, [x, i]], ...rowOf(x, i).map(j => [-of(i) / d, ...more, [x, j]])];
    const both = (i, j) => -of(i) / d * (1 + normed.data[i] * normed.data[j]);    // through the mean and the variance
    return { normed: i => minusMean(i), y: i => [...minusMean(i, [gamma, i % d]), [[beta, i % d]]],
             dx: i => [[of(i), [gamma, i % d], [dy, i]], ...rowOf(dy, i).map(j => [both(i, j), [gamma, j % d], [dy, j]])],
             gamma: i => columnTerms(dy, i).map(([[, n]]) => [[dy, n], [normed, n]]), beta: i => columnTerms(dy, i) };
  }
}
