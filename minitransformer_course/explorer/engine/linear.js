// y = x W + b: x (T, d_in), W (d_in, d_out), b (d_out,), y (T, d_out).
class Linear extends Layer {
  constructor(model, path) {
    super(model, path);
    this.weight = model.parameters[`${path}.weight`];
    this.bias = model.parameters[`${path}.bias`];
  }

  forward(x) {
    const b = this.bias.data.data;
    return [like(matmul(x, this.weight.data), (a, i) => a + b[i % b.length]), { x }];
  }

  // From y_nj = sum_i x_ni W_ij + b_j: dW = x^T dy, db = sum_n dy_n, dx = dy W^T.
  backward(dy, { x }) {
    this.weight.add(matmul(transpose(x), dy));
    this.bias.add(sumOfRows(dy));
    return matmul(dy, transpose(this.weight.data));
  }

  terms({ x }, dy) {
    const { weight: { data: W }, bias: { data: b } } = this;
    return { y: i => [...products(x, W, i), [[b, i % b.data.length]]], dx: i => products(dy, W, i, "b"),
             weight: i => products(x, dy, i, "a"), bias: i => columnTerms(dy, i) };
  }
}
