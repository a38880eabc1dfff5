// The input of a stack: y = positions(embedding(ids)).
class Input extends Layer {
  constructor(model, path, weight) {
    super(model, path);
    this.embedding = new Embedding(model, `${path}.embedding`, weight);
    this.positions = new Positions(model, `${path}.positions`);
  }

  forward(ids) {
    const [x, embedding] = this.embedding.forward(ids);
    const [y, positions] = this.positions.forward(x);
    return [y, { embedding, positions }];
  }

  backward(dy, cache) {
    const dx = this.positions.backward(dy, cache.positions);
    this.embedding.backward(dx, cache.embedding);
  }
}
