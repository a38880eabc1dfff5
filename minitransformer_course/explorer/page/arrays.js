// The arrays in each box, with named axes.

const probabilities = logits => Softmax.prototype.forward(logits, { data: [1] })[0];
const numbered = count => Array.from({ length: count }, (_, i) => String(i));
const tokensBelow = size => numbered(size).map(tokenOf);
const AXES = { token: _`token`, dimension: _`dimension`, query: _`query`, key: _`key`, vocabulary: _`vocabulary`,
               position: _`position`, input: _`input`, output: _`output`, "": "" };    // what a page calls them

// The ids that the rows of a side stand for: of a stack, or of the queries or keys (@) of the attention that is shown.
function idsOf(side) {
  const { batch, attention } = state;
  if (side === "@key" || side === "@value") return idsOf(attention.includes("cross") ? "encoder" : attention.split(".")[0]);
  if (side[0] === "@") return idsOf(attention.split(".")[0]);
  return side === "encoder" ? batch.source : batch.target || batch.ids;
}

const tokensOf = side => idsOf(side).map(tokenOf);

// The queries: in a decoder the token read, and the one to write next.
function queries() {
  const encoder = state.attention.startsWith("encoder");
  return tokensOf("@").map((token, t) => encoder ? token : `${token}→${tokenOf(state.batch.next_target[t])}`);
}

// Whether the attention that is shown may not look ahead.
const causal = () => state.attention.includes("self") && !state.attention.startsWith("encoder");

// The ids of all tokens or, of a large vocabulary, of the likeliest and the right ones: a heat map has room for a few hundred.
function interesting(logits) {
  const all = [...Array(logits.shape[1]).keys()];
  if (all.length <= 1000) return all;
  const likely = rows(logits).flatMap(row => [...all].sort((a, b) => row[b] - row[a]).slice(0, 5));
  return [...new Set([...likely, ...state.batch.next_target])].sort((a, b) => a - b);
}

function columnsOf(x, ids) {
  const some = new Tensor([x.shape[0], ids.length]), from = rows(x);
  rows(some).forEach((row, t) => row.set(ids.map(id => from[t][id])));
  some.view = [x, i => Math.floor(i / ids.length) * x.shape[1] + ids[i % ids.length]];
  return some;
}

// The arrays of a place: [{title, value, grad, of: what the gradient is of, path, rows, columns: names or null, axes, share}].
// path: what can be nudged, a layer or a parameter, or null.
function arraysOf({ kind, side, path }, { record, parameters, model }) {
  const one = record[path], heads = DATA.config.num_heads, split = x => MultiHeadAttention.prototype.split.call({ heads }, x);
  const array = (title, value, grad, more) => ({
    title, value, grad, of: title, path, rows: tokensOf(side), columns: null, axes: ["token", "dimension"], share: false,
    ...more });
  const attention = (title, value, grad, more) => array(title, value, grad, {
    rows: queries(), columns: tokensOf("@key"), axes: ["query", "key"], ...more });
  const vocabulary = (title, value, more) => {
    const ids = interesting(one.y);
    const some = ids.length < value.shape[1] && { path: null, title: _`${title} of the likeliest tokens` };
    return array(title, columnsOf(value, ids), columnsOf(one.dy, ids), {
      columns: ids.map(tokenOf), axes: ["token", "vocabulary"], ...more, ...some });
  };
  const owned = name => name.startsWith(`${path}.`) || Object.values(model.layers[path]).includes(parameters[name]);
  const weights = () => Object.keys(model ? parameters : {}).filter(owned)
    .map(name => weightArray(name, parameters[name], kind));
  switch (kind) {
    case "tokens": case "dropout": case "adam": case "decoding": return [];
    case "positions": {
      const before = record[path.replace("positions", "embedding")].y, P = like(one.y, (a, i) => a - before.data[i]);
      if (one.cache) P.view = [one.cache.table, i => i];
      return [array("P", P, one.dy, { path: null }), ...weights()];
    }
    case "plus": return [array("y", one.y, one.dy)];
    case "self_attention": case "cross_attention": {
      const p = record[`${path}.softmax`];
      return [attention("p", p.y, p.dy, { path: `${path}.softmax`, share: true }), array("y", one.y, one.dy)];
    }
    case "split": return [array("heads", split(one.y), split(one.dy), { path: null })];
    case "merge": return [array("y", sideBySide(one.y), sideBySide(one.dy), { path: null })];
    case "scores": return [attention("scores", one.y, one.dy)];
    case "mask": {
      const { data } = causal() ? causalMask(idsOf("@")) : paddingMask(idsOf("@"), idsOf("@key"));
      const masked = like(one.y, (a, i) => data[i % data.length] ? a : -Infinity);
      masked.view = [one.y, i => i];
      return [attention("scores", masked, one.dy, { path: null })];
    }
    case "softmax": return [attention("p", one.y, one.dy, { share: true })];
    case "weighted_sum": return [array("heads", one.y, one.dy)];
    case "output": case "loss": return [vocabulary("logits", one.y), ...(kind === "output" ? weights() : [])];
    case "softmax_output": {
      const p = record.loss ? record.loss.cache.p : probabilities(one.y);
      return [vocabulary("p", p, { share: true, path: null, of: "logits" })];
    }
    case "feed_forward": {
      const inner = `${path}.activation`;
      return [array("y", one.y, one.dy), array("activation", record[inner].y, record[inner].dy, { path: inner }), ...weights()];
    }
    default: return [array("y", one.y, one.dy), ...weights()];
  }
}

function weightArray(name, { data, grad }, kind) {
  const [count] = data.shape, axes = {
    embedding: ["vocabulary", "dimension"], output: ["vocabulary", "dimension"], positions: ["position", "dimension"],
  }[kind] || ["input", "output"];
  const named = data.shape.length < 2 ? { rows: [""], axes: ["", "dimension"] }
    : { rows: axes[0] === "vocabulary" ? tokensBelow(count) : numbered(count), axes };
  return { title: name, value: data, grad, of: name.split(".").at(-1), path: name, columns: null, share: false, ...named };
}
