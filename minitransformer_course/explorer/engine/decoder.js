// Each decoder layer: self-attention, cross-attention to the memory, feed-forward, each in a residual.
// x, y (T_q, d_model), memory (T_k, d_model), which every layer reads: its gradient is the sum over them.
class DecoderLayer extends Layer {
  constructor(model, path) {
    super(model, path);
    this.selfAttention = new Residual(model, path, "self_attention", SelfAttention);
    this.crossAttention = new Residual(model, path, "cross_attention", CrossAttention);
    this.feedForward = new Residual(model, path, "feed_forward", FeedForward);
  }

  forward(x, memory, mask, memoryMask) {
    const [h, selfAttention] = this.selfAttention.forward(x, mask);
    const [g, crossAttention] = this.crossAttention.forward(h, memory, memoryMask);
    const [y, feedForward] = this.feedForward.forward(g);
    return [y, { selfAttention, crossAttention, feedForward }];
  }

  backward(dy, cache) {
    const dg = this.feedForward.backward(dy, cache.feedForward);
    const [dh, dmemory] = this.crossAttention.backward(dg, cache.crossAttention);
    return [this.selfAttention.backward(dh, cache.selfAttention), dmemory];
  }
}

class Decoder extends Encoder {
  constructor(model, path) {
    super(model, path, DecoderLayer);
  }

  backward(dy, caches) {
    let dmemory = null;
    for (const [i, layer] of [...this.stack.entries()].reverse()) {
      const [dx, dlayer] = [layer.backward(dy, caches[i])].flat();    // the last norm has not read the memory
      if (dlayer) dmemory = dmemory ? add(dmemory, dlayer) : dlayer;
      dy = dx;
    }
    return [dy, dmemory];
  }
}
