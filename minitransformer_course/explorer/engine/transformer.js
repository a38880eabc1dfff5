// The two models: ids in, the summed loss out. A batch: {source (T_k,), target (T_q,), next_target (T_q,)} or {ids, next_target}.
class NextTokenModel extends Model {
  constructor(config, weights, outputWeight) {
    super(config, weights);
    this.output = new Output(this, "output", outputWeight);
    this.loss = new CrossEntropy(this, "loss");
  }

  lossForward(batch, smoothing) {
    const [y, hidden] = this.hidden(batch);                                       // (T, d_model)
    const [logits, output] = this.output.forward(y);                              // (T, V)
    const [sum, loss] = this.loss.forward(logits, batch.next_target, smoothing);
    return [sum, { hidden, output, loss }];
  }

  lossBackward(dloss, cache) {
    const dlogits = this.loss.backward(dloss, cache.loss);
    const dy = this.output.backward(dlogits, cache.output);
    this.hiddenBackward(dy, cache.hidden);
  }
}

class Transformer extends NextTokenModel {
  constructor(config, weights) {
    const table = "target_embedding.weight";
    super(config, weights, config.share_output ? table : "output.weight");
    this.sourceInput = new Input(this, "source_input", config.share_embeddings ? table : "source_embedding.weight");
    this.targetInput = new Input(this, "target_input", table);
    this.encoder = new Encoder(this, "encoder");
    this.decoder = new Decoder(this, "decoder");
  }

  hidden({ source, target }) {
    const [x, sourceInput] = this.sourceInput.forward(source);
    const [memory, encoder] = this.encoder.forward(x, paddingMask(source, source));
    const [z, targetInput] = this.targetInput.forward(target);
    const [y, decoder] = this.decoder.forward(z, memory, causalMask(target), paddingMask(target, source));
    return [y, { sourceInput, encoder, targetInput, decoder }];
  }

  hiddenBackward(dy, cache) {
    const [dz, dmemory] = this.decoder.backward(dy, cache.decoder);
    this.targetInput.backward(dz, cache.targetInput);
    const dx = this.encoder.backward(dmemory, cache.encoder);
    this.sourceInput.backward(dx, cache.sourceInput);
  }
}

class LanguageModel extends NextTokenModel {    // an encoder's stack with a causal mask
  constructor(config, weights) {
    super(config, weights, config.share_output ? "embedding.weight" : "output.weight");
    this.input = new Input(this, "input", "embedding.weight");
    this.stack = new Encoder(this, "stack");
  }

  hidden({ ids }) {
    const [x, input] = this.input.forward(ids);
    const [y, stack] = this.stack.forward(x, causalMask(ids));
    return [y, { input, stack }];
  }

  hiddenBackward(dy, cache) {
    const dx = this.stack.backward(dy, cache.stack);
    this.input.backward(dx, cache.input);
  }
}
