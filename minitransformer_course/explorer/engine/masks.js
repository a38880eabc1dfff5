// Masks (T_q, T_k): 1 where a query may attend to a key, for all heads alike. A key must be a real token; with a causal mask,
// position t looks only at positions up to t.
const PAD = 0, BOS = 1, EOS = 2;

const paddingMask = (queries, keys) => like(new Tensor([queries.length, keys.length]), (_, i) => +(keys[i % keys.length] !== PAD));
const causalMask = ids => like(paddingMask(ids, ids), (may, i) => i % ids.length <= Math.floor(i / ids.length) ? may : 0);
