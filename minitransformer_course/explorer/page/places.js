// What each box of the map stands for: its layer in the model, and what to say about it.

// [what a kind of box computes, what its backward does].
const wordsOf = kind => [...document.querySelectorAll(`#words > [data-kind="${kind}"] > *`)].map(one => one.textContent);

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
