// Each encoder layer: self-attention, then feed-forward, each in a residual; x, y (T, d_model). Pre-norm stacks end with a norm.
class EncoderLayer extends Layer {
  constructor(model, path) {
    super(model, path);
    this.selfAttention = new Residual(model, path, "self_attention", SelfAttention);
    this.feedForward = new Residual(model, path, "feed_forward", FeedForward);
  }

  forward(x, mask) {
    const [h, selfAttention] = this.selfAttention.forward(x, mask);
    const [y, feedForward] = this.feedForward.forward(h);
    return [y, { selfAttention, feedForward }];
  }

  backward(dy, cache) {
    const dh = this.feedForward.backward(dy, cache.feedForward);
    return this.selfAttention.backward(dh, cache.selfAttention);
  }
}

class Encoder extends Layer {
  constructor(model, path, Kind = EncoderLayer) {
    super(model, path);
    this.stack = Array.from({ length: model.config.num_layers }, (_, i) => new Kind(model, `${path}.layers.${i}`));
    if (model.config.pre_norm) this.stack.push(new LayerNorm(model, `${path}.norm`));
  }

  forward(x, ...others) {
    const caches = [];
    for (const layer of this.stack) {
      const [y, cache] = layer.forward(x, ...others);
      caches.push(cache);
      x = y;
    }
    return [x, caches];
  }

  backward(dy, caches) {
    for (const [i, layer] of [...this.stack.entries()].reverse()) dy = layer.backward(dy, caches[i]);
    return dy;
  }
}
