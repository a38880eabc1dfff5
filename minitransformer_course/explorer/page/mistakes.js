// Five famous mistakes, all in a backward: the forward, and so the loss, stays right. Each is made in the right answer.

const MISTAKES = {
  scale: {
    at: layer => layer instanceof Scores,
    wrong: (layer, right, dy, cache) => right(dy, cache).map(dx => scale(dx, Math.sqrt(cache.q.shape[2]))),
  },
  mask: {
    at: ({ path }) => /^(decoder|stack).*self_attention.softmax/.test(path),
    wrong: (layer, right, dp, { x }) => right(dp, Softmax.prototype.forward(x, { data: [1] })[1]),
  },
  norm: {
    at: layer => layer instanceof LayerNorm,
    wrong: (layer, right, dy, cache) => {
      right(dy, cache);
      const gamma = layer.gamma.data.data, d = gamma.length;
      return like(dy, (a, i) => a * gamma[i % d] * cache.inverse[Math.floor(i / d)]);
    },
  },
  residual: {
    at: layer => layer instanceof Add,
    wrong: (layer, right, dy) => [like(dy, () => 0), dy],
  },
  tied: {
    at: (layer, model) => layer instanceof Embedding &&
      Object.values(model.layers).some(other => other !== layer && other.weight === layer.weight),
    wrong: (layer, right, dy, cache) => {
      layer.weight.grad.data.fill(0);
      return right(dy, cache);
    },
  },
};

// Whether `found` differs from the right gradient: the error of a gradient check, with the largest gradient of all in its floor.
function differs(found, right, all) {
  const difference = found.data.reduce((most, a, i) => Math.max(most, Math.abs(a - right.data[i])), 0);
  return difference > 1e-7 * Math.max(largest(found), largest(right), all / 10);
}

const gradsOf = model => Object.fromEntries(Object.entries(model.parameters).map(([name, { grad }]) => [name, like(grad, a => a)]));

// {layers: {path: {dy, dx}}, weights: {name}}: whether each gradient is wrong.
function compare(found, right, grads, rightGrads) {
  const layers = Object.values(right).map(one => one.dy).filter(dy => dy.data), all = Math.max(...[
    ...Object.values(rightGrads), ...layers].map(largest));
  const wrong = (a, b) => Boolean(a && a.data) && differs(a, b, all);
  return {
    layers: Object.fromEntries(Object.entries(found).map(([path, { dy, dx }]) => [path, {
      dy: wrong(dy, right[path].dy), dx: dx.some((one, i) => wrong(one, right[path].dx[i])) }])),
    weights: Object.fromEntries(Object.keys(grads).map(name => [name, wrong(grads[name], rightGrads[name])])),
  };
}
