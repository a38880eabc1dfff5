// Arrays: a shape, and the numbers in one Float64Array whose last axis runs fastest.

class Tensor {
  constructor(shape, data = new Float64Array(shape.reduce((a, b) => a * b, 1))) {
    this.shape = shape;
    this.data = data;
  }
}

const like = (x, f) => new Tensor(x.shape, x.data.map(f));    // f(number, its index in data)
const add = (x, y) => Object.assign(like(x, (a, i) => a + y.data[i]), { parts: [x, y] });    // of what it is the sum
const scale = (x, factor) => like(x, a => a * factor);

// The last axis of x (..., d), row by row, as views: what is written into them is written into x.
function rows(x) {
  const d = x.shape.at(-1);
  return Array.from({ length: x.data.length / d }, (_, n) => x.data.subarray(n * d, (n + 1) * d));
}

// The sum of all rows of x (..., d): (d,).
function sumOfRows(x) {
  const sum = new Tensor([x.shape.at(-1)]);
  for (const row of rows(x)) row.forEach((a, i) => { sum.data[i] += a; });
  return sum;
}

// x (..., n, m) times y (..., m, p): (..., n, p).
function matmul(x, y) {
  const [n, m] = x.shape.slice(-2), p = y.shape.at(-1);
  const product = new Tensor([...x.shape.slice(0, -1), p]), { data } = product;
  for (let block = 0; block < data.length / (n * p); block++) {
    for (let i = 0; i < n; i++) {
      for (let k = 0; k < m; k++) {
        const a = x.data[(block * n + i) * m + k], from = (block * m + k) * p, to = (block * n + i) * p;
        if (a !== 0) for (let j = 0; j < p; j++) data[to + j] += a * y.data[from + j];
      }
    }
  }
  return product;
}

// Swaps the last two axes of x.
function transpose(x) {
  const [n, m] = x.shape.slice(-2), swapped = new Tensor([...x.shape.slice(0, -2), m, n]);
  for (let i = 0; i < x.data.length; i++) {
    const block = Math.floor(i / (n * m)), row = Math.floor(i / m) % n, column = i % m;
    swapped.data[block * n * m + column * n + row] = x.data[i];
  }
  return swapped;
}
