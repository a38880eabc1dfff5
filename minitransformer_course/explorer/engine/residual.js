// Post-norm: y = LayerNorm(x + sublayer(x, ...)); pre-norm: y = x + sublayer(LayerNorm(x), ...). x, y (T, d_model).
class Add extends Layer {    // each summand gets all of the gradient
  forward(x, h) { return [add(x, h), { x, h }]; }
  backward(dy) { return [dy, dy]; }
  terms({ x, h }, dy) { return { y: i => [[[x, i]], [[h, i]]], dx: i => [[[dy, i]]] }; }
}

class Residual extends Layer {
  constructor(model, layer, name, Sublayer) {
    const path = `${layer}.${name}_residual`;
    super(model, path);
    this.sublayer = new Sublayer(model, `${layer}.${name}`);
    this.preNorm = model.config.pre_norm;
    this.norm = new LayerNorm(model, `${path}.norm`);
    this.add = new Add(model, `${path}.add`);
  }

  forward(x, ...others) {
    const [input, before] = this.preNorm ? this.norm.forward(x) : [x];
    const [h, sublayer] = this.sublayer.forward(input, ...others);
    const [sum, cache] = this.add.forward(x, h);
    const [y, after] = this.preNorm ? [sum] : this.norm.forward(sum);
    return [y, { norm: before || after, sublayer, add: cache }];
  }

  // Returns dx or, if the sub-layer has another differentiable input, [dx, its gradient].
  backward(dy, cache) {
    const dsum = this.preNorm ? dy : this.norm.backward(dy, cache.norm);
    const [past, dh] = this.add.backward(dsum, cache.add);
    const [dinput, ...dothers] = [this.sublayer.backward(dh, cache.sublayer)].flat();
    const through = this.preNorm ? this.norm.backward(dinput, cache.norm) : dinput;
    const dx = add(past, through);
    return dothers.length ? [dx, ...dothers] : dx;
  }
}
