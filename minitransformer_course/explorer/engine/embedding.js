// y = sqrt(d_model) W[ids]: ids (T,), W (V, d_model), y (T, d_model).
class Embedding extends Layer {
  constructor(model, path, weight) {
    super(model, path);
    this.weight = model.parameters[weight];
  }

  forward(ids) {
    const table = rows(this.weight.data), d = this.weight.data.shape[1], y = new Tensor([ids.length, d]);
    rows(y).forEach((row, t) => row.set(table[ids[t]].map(a => Math.sqrt(d) * a)));
    return [y, { ids }];
  }

  // dW[v] = sqrt(d_model) * (sum of dy over the places where v occurs). Ids get no gradient.
  backward(dy, { ids }) {
    const dW = like(this.weight.data, () => 0), table = rows(dW), d = dW.shape[1];
    rows(dy).forEach((row, t) => row.forEach((a, i) => { table[ids[t]][i] += Math.sqrt(d) * a; }));
    this.weight.add(dW);
  }

  terms({ ids }, dy) {
    const { data: W } = this.weight, d = W.shape[1], root = Math.sqrt(d);
    return { y: i => [[root, [W, ids[Math.floor(i / d)] * d + i % d]]],
             weight: i => ids.flatMap((id, t) => id === Math.floor(i / d) ? [[root, [dy, t * d + i % d]]] : []) };
  }
}
