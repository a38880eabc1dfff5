// Where a number comes from: the products whose sum it is. A product is a list of factors, and a factor is a number, or the number
// [tensor, index], or a function of it: [tensor, index, f, text of f(a)]. Beside forward and backward, a layer has
//     terms(cache, dy)    {y: i => products, dx: (i, n) => products of its n-th input's gradient, weight: i => ..., ...}
// with the names of its parameters for their gradients, and of what else can be asked of its cache. A list of products may have
// `outer`, [text before, text after, f]: then the number is f(their sum).

// Number i of A B or, with a letter of `how`, of Aᵀ B ("a") or A Bᵀ ("b"), times a factor.
function products(a, b, i, how = "", factor = null) {
  const [ar, ac] = a.shape.slice(-2), [br, bc] = b.shape.slice(-2), [n, m] = how === "a" ? [ac, ar] : [ar, ac];
  const p = how === "b" ? br : bc, block = Math.floor(i / (n * p)), row = Math.floor(i / p) % n, column = i % p;
  return Array.from({ length: m }, (_, k) => [
    ...(factor === null ? [] : [factor]),
    [a, block * ar * ac + (how === "a" ? k * ac + row : row * ac + k)],
    [b, block * br * bc + (how === "b" ? column * bc + k : k * bc + column)]]);
}

// Column i of x (T, d), and the places of the row in which its number i is.
const columnTerms = (x, i) => rows(x).map((_, t) => [[x, t * x.shape.at(-1) + i]]);
const rowOf = (x, i) => Array.from({ length: x.shape.at(-1) }, (_, j) => i - i % x.shape.at(-1) + j);

// p_i = 1 / sum_j exp(x_j - x_i), over the entries that take part.
function softmaxTerms(x, p, i) {
  const from = x.data[i], found = p.data[i] === 0 ? [] : rowOf(x, i).filter(j => p.data[j] > 0)
    .map(j => [[x, j, a => Math.exp(a - from), a => `e^${short(a - from)}`]]);
  return found.length ? Object.assign(found, { outer: ["1 / (", ")", sum => 1 / sum] }) : found;
}

const valueOf = factor => !Array.isArray(factor) ? factor : (([{ data }, i, f = a => a]) => f(data[i]))(factor);
const productOf = factors => factors.reduce((product, factor) => product * valueOf(factor), 1);

function totalOf(terms) {
  const sum = terms.reduce((total, factors) => total + productOf(factors), 0);
  return terms.outer ? terms.outer[2](sum) : sum;
}

// Remembers, of each array that one forward and one backward make, how: {layer, terms: i => products}.
class Origins {
  constructor(model) {
    this.made = new Map();
    this.uses = new Map();    // {gradient of a parameter: [the terms of each of its uses]}
    for (const { grad } of Object.values(model.parameters)) this.uses.set(grad, []);
  }

  forward(layer, y, cache) {
    if (!layer.terms) return;
    const found = layer.terms(cache);
    this.set(y, layer, found.y);
    for (const [name, terms] of Object.entries(found)) this.set(cache[name], layer, terms);
  }

  backward(layer, dy, dx, cache) {
    if (!layer.terms) return;
    const found = layer.terms(cache, dy);
    dx.forEach((one, n) => this.set(one, layer, i => found.dx(i, n)));
    for (const [name, own] of Object.entries(layer)) if (own instanceof Parameter) this.uses.get(own.grad).push(found[name]);
  }

  set(array, layer, terms) {
    if (array instanceof Tensor && !this.made.has(array)) this.made.set(array, { layer, terms });
  }

  // The products of number i of an array, or null if nothing has made it: a weight, or a constant.
  of(array, i) {
    if (this.uses.has(array)) return this.uses.get(array).flatMap(terms => terms(i));
    if (this.made.has(array)) return this.made.get(array).terms(i);
    if (array.view) return [[[array.view[0], array.view[1](i)]]];
    return array.parts ? array.parts.map(part => [[part, i]]) : null;
  }
}
