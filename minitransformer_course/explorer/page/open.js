// An open box: what it computes, its arrays and their gradients as heat maps, and each number to read and to nudge.

const titleOf = i => ({ add: "Residual connection", plus: "Embeddings plus positions" }[places[i].kind] || DATA.map.boxes[i].name);

// Fills the panel with box number i. covered: its gradients are not shown yet; uncover() shows them.
function fillPanel(i, place, covered, uncover) {
  const into = find("open"), [what, back] = WORDS[place.kind], { numbers } = state, logits = numbers.record.output.y;
  into.replaceChildren(h("h2", {}, titleOf(i)), h("p", { className: "path" }, place.path || ""), h("p", {}, what));
  if (back) into.append(h("p", { className: "back" }, h("strong", {}, "Backward: "), covered ? "covered" : back));
  if (covered) {
    into.append(h("p", {}, "Predict before you look: which rows are zero, which is the largest, what does a row sum to? ",
                  h("button", { type: "button", onclick: uncover }, "Show the gradient")));
  }
  if (place.kind === "mask" && !causal() && !idsOf("@key").includes(PAD)) {
    into.append(h("p", {}, "In this attention nothing is hidden. Choose the decoder's self-attention in “Inside of”, or add " +
                           "padding."));
  }
  if (place.kind === "tokens") {
    into.append(table(["position", "token", "id"], idsOf(place.side).map((id, t) => [t, tokenOf(id), id])));
  }
  if (place.kind === "loss") into.append(lossTable(logits));
  if (["decoding", "output", "softmax_output"].includes(place.kind)) into.append(likeliest(logits));
  if (place.kind === "adam" && !covered) into.append(bars(numbers.parameters));
  const readout = h("output", { className: "readout" }, "Point at a number, or walk through them with the arrow keys.");
  const nudged = h("p", { role: "status" }), arrays = arraysOf(place, numbers);
  for (const array of arrays) into.append(...figuresOf(array, covered, into.clientWidth - 30, readout, nudged));
  if (arrays.length) into.append(h("div", { className: "reading" }, readout, nudged));
}

// For each head of an array, or for the array, its value and, unless it is covered, its gradient.
function figuresOf(array, covered, width, readout, nudged) {
  const { value, grad, columns: names, axes, title } = array, columns = value.shape.at(-1), shape = `(${value.shape.join(", ")})`;
  const heads = value.shape.length > 2 ? value.shape[0] : 0, size = value.data.length / (heads || 1);
  return numbered(heads || 1).map(head => {
    const first = head * size, part = x => x.data.subarray(first, first + size), which = heads ? `, head ${head}` : "";
    const told = index => {
      const row = array.rows[Math.floor(index / columns)], column = names ? names[index % columns] : index % columns;
      readout.textContent = `${title}${which}, ${axes[0]} ${row}, ${axes[1]} ${column}: ${exact(value.data[first + index])}`
        + (covered ? "" : `; gradient of ${array.of} ${exact(grad.data[first + index])}`);
    };
    const picked = index => {
      const onclick = () => {
        nudged.textContent = nudge(array.path, first + index, covered ? null : grad.data[first + index]);
      };
      nudged.replaceChildren(!LIVE ? "These numbers were recorded: they cannot be nudged."
        : !array.path ? "Nudge it in the box that it comes from." : h("button", { type: "button", onclick }, "Nudge this number"));
    };
    const figure = (name, x, kind) => heatMap({
      title: `${name}${which} ${shape}`, data: part(x), columns, rows: array.rows, heads: names, axes, kind,
      most: kind === "shares" ? 1 : largest(x) }, width, told, picked);
    const pair = h("div", { className: "pair" }, figure(title, value, array.share ? "shares" : "values"));
    if (!covered) pair.append(figure(`gradient of ${array.of}`, grad, "gradients"));
    if (heads && array.share) pair.append(h("p", { className: "note" }, described(part(value), columns)));
    return pair;
  });
}

// What a head does, in a few words; data: its weights (T_q, T_k).
function described(data, columns) {
  const weights = rows(new Tensor([data.length / columns, columns], data));
  const keys = idsOf("@key"), next = state.batch.next_target;
  const mean = numbers => (numbers.reduce((a, b) => a + b, 0) / numbers.length).toFixed(2);
  const sharpest = `The largest weight of a row is ${mean(weights.map(row => Math.max(...row)))} on average.`;
  if (state.attention.startsWith("encoder")) return sharpest;
  const copied = weights.flatMap((row, t) => next[t] > EOS && keys.includes(next[t])
    ? [row.reduce((sum, a, i) => keys[i] === next[t] ? sum + a : sum, 0)] : []);
  return copied.length ? `${sharpest} Its weight on the token to be written next is ${mean(copied)}: a head that copies has 1.`
    : sharpest;
}

// A table: names of the columns, rows of cells.
const table = (head, body) => h("div", { className: "scroll" }, h("table", {},
  h("thead", {}, h("tr", {}, ...head.map(one => h("th", { scope: "col" }, one)))),
  h("tbody", {}, ...body.map(row => h("tr", {}, ...row.map(one => h("td", {}, String(one))))))));

function lossTable(logits) {
  const p = rows(probabilities(logits)), read = tokensOf("decoder");
  return table(["token read", "right token", "its probability", "-log p"], state.batch.next_target.map((id, t) =>
    [read[t], tokenOf(id), ...(id === PAD ? ["", "padding: not counted"] : [exact(p[t][id]), exact(-Math.log(p[t][id]))])]));
}

function likeliest(logits) {
  const read = tokensOf("decoder");
  return table(["token read", "right token", "likeliest tokens"], rows(probabilities(logits)).map((row, t) => [
    read[t], tokenOf(state.batch.next_target[t]), [...row.entries()].sort((a, b) => b[1] - a[1]).slice(0, 4).map(([id, p]) =>
      `${tokenOf(id)} ${(100 * p).toFixed(1)} %`).join("   ")]));
}

// The norm of the gradient of each layer of the model, all its parameters together, and of each parameter.
function bars(parameters) {
  const groups = {};
  for (const [name, { grad }] of Object.entries(parameters)) {
    const [group] = /^\w+\.layers\.\d+|^[^.]+/.exec(name);
    (groups[group] ||= []).push([name, grad.data ? norm(grad) : grad]);
  }
  const total = list => Math.hypot(...list.map(([, one]) => one)), most = Math.max(...Object.values(groups).map(total));
  return h("div", {}, ...Object.entries(groups).map(([group, list]) => h("details", {}, h("summary", {},
    h("span", { className: "bar", style: `--share: ${total(list) / most}` }), ` ${group}: ${short(total(list))}`),
    table(["parameter", "norm of its gradient"], list.map(([name, one]) => [name, exact(one)])))));
}
