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
    return [like(normed, (n, i) => gamma[i % d] * n + beta[i % d]), { normed, inverse }];
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
}
