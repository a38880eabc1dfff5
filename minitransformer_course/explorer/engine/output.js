// logits = x W^T: x (T, d_model), W (V, d_model), which may be an embedding's, logits (T, V).
class Output extends Layer {
  constructor(model, path, weight) {
    super(model, path);
    this.weight = model.parameters[weight];
  }

  forward(x) {
    return [matmul(x, transpose(this.weight.data)), { x }];
  }

  // From logits_nv = sum_i x_ni W_vi: dW = dlogits^T x, dx = dlogits W.
  backward(dlogits, { x }) {
    this.weight.add(matmul(transpose(dlogits), x));
    return matmul(dlogits, this.weight.data);
  }

  terms({ x }, dlogits) {
    const { data: W } = this.weight;
    return { y: i => products(x, W, i, "b"), dx: i => products(dlogits, W, i), weight: i => products(dlogits, x, i, "a") };
  }
}
