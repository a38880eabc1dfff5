// p_i = exp(x_i) / sum_j exp(x_j) over the last axis of x (H, T_q, T_k); mask (T_q, T_k): 1 where an entry takes part.
class Softmax extends Layer {
  forward(x, mask) {
    const p = like(x, (a, i) => mask.data[i % mask.data.length] ? a : -Infinity);
    for (const row of rows(p)) {
      const peak = Math.max(...row, -Number.MAX_VALUE);    // subtracting it changes nothing but avoids overflow
      row.forEach((a, i) => { row[i] = Math.exp(a - peak); });
      const total = row.reduce((a, b) => a + b) || 1;      // a query that may attend to nothing: 0 everywhere
      row.forEach((a, i) => { row[i] = a / total; });
    }
    return [p, { p, x }];
  }

  // From dp_i/dx_j = p_i (delta_ij - p_j): dx = p (dp - sum_j dp_j p_j). Where p = 0 (masked out) dx = 0.
  backward(dp, { p }) {
    const weighted = like(p, (a, i) => a * dp.data[i]), d = p.shape.at(-1);
    const mean = rows(weighted).map(row => row.reduce((a, b) => a + b));
    return like(p, (a, i) => a * (dp.data[i] - mean[Math.floor(i / d)]));
  }

  terms({ p, x }, dp) {
    return { y: i => softmaxTerms(x, p, i), dx: i => [[[p, i], [dp, i]], ...rowOf(p, i).map(j => [-1, [p, i], [p, j], [dp, j]])] };
  }
}
