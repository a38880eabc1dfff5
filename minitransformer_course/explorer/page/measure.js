// What a model computes, layer by layer, and the gradient of the loss with respect to it.

const countOf = batch => batch.next_target.filter(id => id !== PAD).length;

// One forward and one backward: {loss, mean, record: {path: {y, dy, dx, cache}}, origins}; the parameters hold their gradients.
// mistakes: {path: what that layer's backward does instead, a function of (layer, its right backward, dy, cache)}.
function measure(model, batch, smoothing, mistakes = {}) {
  const record = {}, origins = new Origins(model);
  const unhook = hook(model, (layer, direction, method, inputs) => {
    const wrong = direction === "backward" && mistakes[layer.path];
    const result = wrong ? wrong(layer, method, ...inputs) : method(...inputs);
    if (direction === "forward") {
      record[layer.path] = { y: result[0], cache: result[1] };
      origins.forward(layer, ...result);
    } else {
      const [dy, cache] = inputs, dx = [result].flat();
      Object.assign(record[layer.path], { dy, dx });
      origins.backward(layer, dy, dx, cache);
    }
    return result;
  });
  model.zeroGrad();
  const [sum, cache] = model.lossForward(batch, smoothing), count = countOf(batch);
  model.lossBackward(1 / count, cache);
  unhook();
  const mean = new Tensor([1], [sum / count]);    // as an array, of whose number the origin can be asked, too
  origins.set(mean, model.loss, () => model.loss.terms(cache.loss).y().map(factors => [1 / count, ...factors]));
  return { loss: sum / count, mean, record, origins };
}

// The loss if number `index` of a parameter, or of what the layer at `path` returns, were larger by `step`.
function lossNudged(model, batch, smoothing, path, index, step) {
  const parameter = model.parameters[path];
  const unhook = hook(model, (layer, direction, method, inputs) => {
    const [y, cache] = method(...inputs);
    return [layer.path === path ? like(y, (a, i) => i === index ? a + step : a) : y, cache];
  });
  const before = parameter && parameter.data.data[index];
  if (parameter) parameter.data.data[index] += step;
  const [sum] = model.lossForward(batch, smoothing);
  if (parameter) parameter.data.data[index] = before;
  unhook();
  return sum / countOf(batch);
}
