// What each box of the map stands for: its layer in the model, and what to say about it.

// {kind of box: [what it computes, what its backward does]}
const WORDS = {
  tokens: ["The text as token ids. Ids are no numbers to compute with, and so they have no gradient.", ""],
  embedding: ["Each token picks its row of W, times √d_model.",
    "Each row of dy, times √d_model, is added to its token's row of dW. A padded token's row of dy is 0: nothing attends to it."],
  positions: ["A row for each position, so that the model can tell the same token in two places apart.",
    "The sum hands its gradient on unchanged: dP = dy. Sinusoids are constants, and no update changes them."],
  plus: ["Embeddings plus positions.", "A sum hands its gradient on to both summands unchanged."],
  dropout: ["Dropout is off here: this page evaluates the model, as `translate` does.", "Nothing is dropped, so dx = dy."],
  self_attention: ["Each token asks with its query which tokens of its own sequence to look at, and takes a mean of their " +
    "values. Below are its heads: a row for each query, a column for each key.",
    "x was query, key and value at once, so dx is the sum of three gradients."],
  cross_attention: ["Each token of the output asks with its query where in the source to look. Keys and values come from the " +
    "memory, the encoder's output.", "dx comes back through the query; the memory gets dkey + dvalue, from every decoder layer."],
  feed_forward: ["Two linear layers with an activation in between, at each position separately.",
    "Where the activation is flat, no gradient passes: with ReLU, where its input is below 0."],
  add: ["The residual connection: what came in, plus what the sub-layer made of it.",
    "dy goes to both summands whole: through the sub-layer, and past it."],
  layer_norm: ["Each row is shifted to mean 0 and scaled to variance 1, then times gamma, plus beta.",
    "dx = (dn - mean(dn) - n mean(dn n)) / σ with dn = dy gamma: every x moves the mean and the variance, too."],
  output: ["A score for each token of the vocabulary, the logit: the product of the hidden state with the token's row of W.",
    "dlogits = (p - q) / number of tokens: the probability minus what it should be. Padded positions have none."],
  softmax_output: ["The logits as probabilities.", "Together with the loss, softmax gives dlogits = (p - q) / number of tokens."],
  loss: ["For each token -log p of the right one; with label smoothing, a little of it for every other token, too.",
    "Here every gradient begins, as 1 / number of tokens. Padding counts in neither."],
  adam: ["Adam moves every weight against its gradient. The bars are the norms of the gradients, layer by layer.", ""],
  decoding: ["What the model would write next at each position, most likely first.", ""],
  query: ["The queries: what each token is looking for.", "dq = dscores k / √d_k, a sum over the keys."],
  key: ["The keys: what each token can be found by.", "dk = dscoresᵀ q / √d_k, a sum over the queries."],
  value: ["The values: what a token hands over when it is looked at.", "dv = pᵀ dheads, a sum over the queries."],
  split: ["The same numbers, cut into heads.", "The same numbers again, put side by side."],
  scores: ["How well each query fits each key: their product, divided by √d_k to keep softmax out of its flat ends.",
    "The same 1/√d_k appears in dq and dk."],
  mask: ["A query may not look at grey places. In a decoder that is the triangle of tokens to its right: when the model writes, " +
    "they do not exist yet. Padding is hidden from every query.",
    "A masked score has no effect on the loss, so its gradient is 0."],
  softmax: ["The scores as weights: each row sums to 1.", "dscores = p (dp - sum of dp p): each row of it sums to 0."],
  weighted_sum: ["The mean of the values, with these weights.", "dp = dheads vᵀ."],
  merge: ["The heads side by side again.", "The same numbers again, cut into heads."],
  attention_output: ["A linear layer mixes what the heads have found.", "dx = dy Wᵀ, dW = xᵀ dy, db = the sum of dy's rows."],
};

// For each box its place {path, kind, side, parts}, or null. path: with * for the number of the layer, and @ for the attention
// whose inside is shown; side: whose tokens its rows are; parts: which gradients of the layer belong to it.
function placesOf(boxes) {
  const columns = DATA.kind === "Transformer" ? [["encoder", "source_input"], ["decoder", "target_input"]] : [["stack", "input"]];
  const inside = ["query", "key", "value"], linears = [...inside, "output"];
  let stack, input, sublayers, norms, adds, within = false;
  return boxes.map(({ kind, name }) => {
    const place = (path, more = {}) => ({ path, kind, side: stack, parts: ["dy", "dx"], ...more });
    if (kind === "tokens") {
      [stack, input] = columns.shift();
      [norms, adds, sublayers] = [0, 0, ["self_attention", ...(stack === "decoder" ? ["cross_attention"] : []), "feed_forward"]];
    }
    if (kind === "label" && name === "query") within = true;
    if (kind === "loss") within = false;
    const sublayer = n => `${stack}.layers.*.${sublayers[n]}_residual`;
    switch (within && kind) {
      case "linear": {
        const one = linears.shift();
        return place(`@.${one}`, { kind: one === "output" ? "attention_output" : one, side: "@" + one });
      }
      case "split": { const one = inside.shift(); return place(`@.${one}`, { side: "@" + one, parts: ["dy"] }); }
      case "mask": return place("@.scores", { side: "@", parts: ["dy"] });
      case "merge": return place("@.weighted_sum", { side: "@", parts: ["dy"] });
      case "scores": case "softmax": case "weighted_sum": return place(`@.${kind}`, { side: "@" });
    }
    switch (kind) {
      case "tokens": case "dropout": case "adam": return place(null);
      case "embedding": return place(`${input}.embedding`);
      case "positions": case "plus": return place(`${input}.positions`, { parts: ["dy"] });
      case "self_attention": case "cross_attention": case "feed_forward": return place(`${stack}.layers.*.${kind}`);
      case "layer_norm": return place(norms < sublayers.length ? `${sublayer(norms++)}.norm` : `${stack}.norm`);
      case "add": return place(`${sublayer(adds++)}.add`);
      case "softmax": return place("output", { kind: "softmax_output", parts: ["dy"] });
      case "output": return place("output");
      case "loss": case "decoding": return place("output", { parts: [] });
      default: return null;
    }
  });
}
