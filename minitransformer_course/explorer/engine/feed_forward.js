// y = activation(x W1 + b1) W2 + b2, at each position separately: x, y (T, d_model).
const SLOPE = Math.sqrt(2 / Math.PI), CUBIC = 0.044715;
const tanh = x => Math.tanh(SLOPE * (x + CUBIC * x ** 3));
const ACTIVATIONS = {    // [f(x), df/dx]
  relu: [x => x > 0 ? x : 0, x => x > 0 ? 1 : 0],
  gelu: [x => 0.5 * x * (1 + tanh(x)),
         x => 0.5 * (1 + tanh(x)) + 0.5 * x * (1 - tanh(x) ** 2) * SLOPE * (1 + 3 * CUBIC * x * x)],
};

class Activation extends Layer {
  constructor(model, path) {
    super(model, path);
    [this.f, this.derivative] = ACTIVATIONS[model.config.activation];
  }

  forward(x) {
    return [like(x, a => this.f(a)), { x }];
  }

  backward(dy, { x }) {
    return like(dy, (a, i) => a * this.derivative(x.data[i]));
  }

  terms({ x }, dy) {
    const share = a => a && this.f(a) / a;    // how much of it passes
    return { y: i => [[share(x.data[i]), [x, i]]], dx: i => [[this.derivative(x.data[i]), [dy, i]]] };
  }
}

class FeedForward extends Layer {
  constructor(model, path) {
    super(model, path);
    this.inner = new Linear(model, `${path}.inner`);
    this.activation = new Activation(model, `${path}.activation`);
    this.outer = new Linear(model, `${path}.outer`);
  }

  forward(x) {
    const [h, inner] = this.inner.forward(x);                       // (T, d_ff)
    const [active, activation] = this.activation.forward(h);
    const [y, outer] = this.outer.forward(active);                  // (T, d_model)
    return [y, { inner, activation, outer }];
  }

  backward(dy, cache) {
    const dactive = this.outer.backward(dy, cache.outer);
    const dh = this.activation.backward(dactive, cache.activation);
    return this.inner.backward(dh, cache.inner);
  }
}
