// A layer under the library's contract, two methods that keep nothing on it:
//     [y, cache] = layer.forward(x, ...)         cache: what backward needs
//     dx         = layer.backward(dy, cache)     also adds to the gradient of each of its parameters
// With several inputs, backward returns an array with one gradient for each.
class Parameter {
  constructor(data) {
    this.data = data;
    this.grad = like(data, () => 0);
  }

  add(gradient) {    // += always: a parameter that is used twice receives the sum of both gradients
    gradient.data.forEach((a, i) => { this.grad.data[i] += a; });
  }
}

class Layer {
  constructor(model, path) {
    this.path = path;
    model.layers[path] = this;
  }
}

class Model {
  constructor(config, weights) {    // weights: {name: Tensor}, with the names that the library gives them
    this.config = config;
    this.parameters = Object.fromEntries(Object.entries(weights).map(([name, data]) => [name, new Parameter(data)]));
    this.layers = {};               // {path: Layer}
  }

  zeroGrad() { Object.values(this.parameters).forEach(parameter => parameter.grad.data.fill(0)); }
}

// Until the function that it returns is called, each call of a layer goes through around(layer, direction, method, arguments).
function hook(model, around) {
  for (const layer of Object.values(model.layers)) {
    for (const direction of ["forward", "backward"]) {
      const method = layer[direction].bind(layer);
      layer[direction] = (...inputs) => around(layer, direction, method, inputs);
    }
  }
  return () => Object.values(model.layers).forEach(layer => { delete layer.forward; delete layer.backward; });
}
