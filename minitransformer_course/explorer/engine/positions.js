// What tells tokens where they stand: y = x + P[:T], x and y (T, d_model). P is a table of sinusoids or, with a weight, learned.
class Positions extends Layer {
  constructor(model, path) {
    super(model, path);
    this.weight = model.parameters[`${path}.weight`];
  }

  forward(x) {
    const table = this.weight ? this.weight.data : sinusoids(x.shape);
    return [add(x, table), { x, table }];
  }

  // Row t is added at position t alone: dP[t] = dy[t], dx = dy.
  backward(dy) {
    if (this.weight) dy.data.forEach((a, n) => { this.weight.grad.data[n] += a; });
    return dy;
  }

  terms({ x, table }, dy) {
    return { y: i => [[[x, i]], [[table, i]]], dx: i => [[[dy, i]]], weight: i => i < dy.data.length ? [[[dy, i]]] : [] };
  }
}

// P[t, 2i] = sin(t / 10000^(2i / d_model)), P[t, 2i + 1] = cos(the same).
function sinusoids([length, d]) {
  return like(new Tensor([length, d]), (_, n) => {
    const t = Math.floor(n / d), i = n % d, angle = t * 10000 ** (-(i - i % 2) / d);
    return i % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}
