// Multi-head attention, y = Concat(head_1 .. head_H) W_O with head_i = softmax(q_i k_i^T / sqrt(d_k)) v_i, and its two uses.
class Scores extends Layer {    // scores = q k^T / sqrt(d_k): q (H, T_q, d_k), k (H, T_k, d_k), scores (H, T_q, T_k)
  forward(q, k) {
    return [scale(matmul(q, transpose(k)), 1 / Math.sqrt(q.shape[2])), { q, k }];
  }

  backward(dscores, { q, k }) {    // dq = dscores k / sqrt(d_k), dk = dscores^T q / sqrt(d_k)
    const ds = scale(dscores, 1 / Math.sqrt(q.shape[2]));
    return [matmul(ds, k), matmul(transpose(ds), q)];
  }

  terms({ q, k }, ds) {
    const factor = 1 / Math.sqrt(q.shape[2]);
    return { y: i => products(q, k, i, "b", factor),
             dx: (i, n) => n ? products(ds, q, i, "a", factor) : products(ds, k, i, "", factor) };
  }
}

class WeightedSum extends Layer {    // heads = p v: p (H, T_q, T_k), v (H, T_k, d_v), heads (H, T_q, d_v)
  forward(p, v) {
    return [matmul(p, v), { p, v }];
  }

  backward(dheads, { p, v }) {    // dp = dheads v^T, dv = p^T dheads, a sum over the queries
    return [matmul(dheads, transpose(v)), matmul(transpose(p), dheads)];
  }

  terms({ p, v }, dheads) {
    return { y: i => products(p, v, i), dx: (i, n) => n ? products(p, dheads, i, "a") : products(dheads, v, i, "b") };
  }
}

class MultiHeadAttention extends Layer {    // query (T_q, d_model), key and value (T_k, d_model), mask (T_q, T_k), y (T_q, d_model)
  constructor(model, path) {
    super(model, path);
    this.heads = model.config.num_heads;
    for (const name of ["query", "key", "value", "output"]) this[name] = new Linear(model, `${path}.${name}`);
    this.scores = new Scores(model, `${path}.scores`);
    this.softmax = new Softmax(model, `${path}.softmax`);
    this.weightedSum = new WeightedSum(model, `${path}.weighted_sum`);
  }

  forward(query, key, value, mask) {
    const [q, queryCache] = this.query.forward(query);                                    // (T_q, H d_k)
    const [k, keyCache] = this.key.forward(key);                                          // (T_k, H d_k)
    const [v, valueCache] = this.value.forward(value);                                    // (T_k, H d_v)
    const [scores, scoresCache] = this.scores.forward(this.split(q), this.split(k));      // (H, T_q, T_k)
    const [p, softmax] = this.softmax.forward(scores, mask);                              // (H, T_q, T_k)
    const [heads, sum] = this.weightedSum.forward(p, this.split(v));                      // (H, T_q, d_v)
    const [y, output] = this.output.forward(this.merge(heads));                           // (T_q, d_model)
    return [y, { query: queryCache, key: keyCache, value: valueCache, scores: scoresCache, softmax, sum, output }];
  }

  backward(dy, cache) {
    const dheads = this.split(this.output.backward(dy, cache.output));
    const [dp, dv] = this.weightedSum.backward(dheads, cache.sum);
    const dscores = this.softmax.backward(dp, cache.softmax);
    const [dq, dk] = this.scores.backward(dscores, cache.scores);
    const dvalue = this.value.backward(this.merge(dv), cache.value);
    const dkey = this.key.backward(this.merge(dk), cache.key);
    const dquery = this.query.backward(this.merge(dq), cache.query);
    return [dquery, dkey, dvalue];
  }

  split(x) {    // (T, H d) -> (H, T, d). Its inverse, and so its backward, is merge.
    const [length, width] = x.shape, d = width / this.heads, y = new Tensor([this.heads, length, d]);
    rows(y).forEach((row, n) => {
      const head = Math.floor(n / length), t = n % length;
      row.set(x.data.subarray(t * width + head * d, t * width + (head + 1) * d));
    });
    y.view = [x, i => Math.floor(i / d) % length * width + Math.floor(i / d / length) * d + i % d];    // the same numbers
    return y;
  }

  merge(x) {    // (H, T, d) -> (T, H d)
    const [heads, length, d] = x.shape, y = new Tensor([length, heads * d]);
    rows(x).forEach((row, n) => y.data.set(row, (n % length) * heads * d + Math.floor(n / length) * d));
    y.view = [x, i => (Math.floor(i / d) % heads * length + Math.floor(i / d / heads)) * d + i % d];
    return y;
  }
}

class SelfAttention extends MultiHeadAttention {    // query, key and value are one sequence x
  forward(x, mask) {
    return super.forward(x, x, x, mask);
  }

  backward(dy, cache) {
    const [dquery, dkey, dvalue] = super.backward(dy, cache);
    return add(add(dquery, dkey), dvalue);    // x was all three
  }
}

class CrossAttention extends MultiHeadAttention {    // x is the query; the encoder's memory provides key and value
  forward(x, memory, mask) {
    return super.forward(x, memory, memory, mask);
  }

  backward(dy, cache) {
    const [dquery, dkey, dvalue] = super.backward(dy, cache);
    return [dquery, add(dkey, dvalue)];
  }
}
