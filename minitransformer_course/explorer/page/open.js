// An open box: what it computes, its arrays and their gradients as heat maps, and each number to read and to nudge.

const TITLES = { add: _`Residual connection`, plus: _`Embeddings plus positions` };
const titleOf = i => TITLES[places[i].kind] || DATA.map.boxes[i].name;

// Fills the panel with the open box.
function showPanel() {
  const { numbers, open } = state, place = resolved(places[open]), covered = isCovered(open), logits = numbers.record.output.y;
  const into = find("open"), [what, back] = wordsOf(place.kind), onclick = () => { state.uncovered.add(open); show(); };
  into.replaceChildren(h("h2", {}, titleOf(open)), h("p", { className: "path" }, place.path || ""), h("p", {}, what));
  if (back) into.append(h("p", { className: "back" }, h("strong", {}, _`Backward: `), covered ? _`covered` : back));
  if (covered) {
    into.append(h("p", {}, _`Predict before you look: which rows are zero, which is the largest, what does a row sum to?`, " ",
                  h("button", { type: "button", onclick }, _`Show the gradient`)));
  }
  if (place.kind === "mask" && !causal() && !idsOf("@key").includes(PAD)) {
    into.append(h("p", {}, _`In this attention nothing is hidden. Choose the decoder's self-attention, or add padding.`));
  }
  if (place.kind === "tokens") {
    into.append(table([_`position`, _`token`, "id"], idsOf(place.side).map((id, t) => [t, tokenOf(id), id])));
  }
  if (["loss", "decoding", "output", "softmax_output"].includes(place.kind)) into.append(predictions(logits));
  if (place.kind === "loss" && LIVE) {
    const onclick = () => goTo(numbers.mean, 0);
    into.append(h("button", { type: "button", onclick }, _`Where does ${short(numbers.loss)} come from?`));
  }
  if (place.kind === "adam" && !covered) into.append(norms(numbers.parameters));
  const readout = h("output", { className: "readout" },
                    _`Point at a number or walk to it with the arrow keys. A click or Enter shows where it came from.`);
  const nudged = h("p", { role: "status" });
  const arrays = place.kind === "adam" && LIVE && !covered ? adamsArrays() : arraysOf(place, numbers);
  state.figures = [];
  for (const array of arrays) into.append(...figuresOf(array, covered, into.clientWidth - 30, readout, nudged));
  const hidden = !arrays.length && !state.number;
  into.append(h("div", { className: "reading", hidden }, readout, nudged, h("div", { id: "why" })));
  explainNumber();
}

// For each head of an array, or for the array, its value and, unless it is covered, its gradient.
function figuresOf(array, covered, width, readout, nudged) {
  const { value, grad, columns: names, axes, title } = array, columns = value.shape.at(-1), shape = `(${value.shape.join(", ")})`;
  const heads = value.shape.length > 2 ? value.shape[0] : 0, size = value.data.length / (heads || 1);
  const [rowOf, columnOf] = axes.map(axis => AXES[axis]);
  return numbered(heads || 1).map(head => {
    const first = head * size, part = x => x.data.subarray(first, first + size), which = heads ? `, ${_`head ${head}`}` : "";
    const told = index => {
      const row = array.rows[Math.floor(index / columns)], column = names ? names[index % columns] : index % columns;
      readout.textContent = `${title}${which}, ${rowOf} ${row}, ${columnOf} ${column}: ${exact(value.data[first + index])}`
        + (covered || !grad ? "" : `; ${_`gradient of ${array.of}`} ${exact(grad.data[first + index])}`);
    };
    const picked = (of, index) => {
      if (LIVE) goTo(of, first + index, { stay: true });
      const onclick = () => {
        nudged.textContent = nudge(array.path, first + index, covered || !grad ? null : grad.data[first + index]);
      };
      nudged.replaceChildren(!LIVE ? _`These numbers were recorded: they cannot be nudged.`
        : array.path ? h("button", { type: "button", onclick }, _`Nudge this number`) : _`Nudge it in the box that it comes from.`);
    };
    const figure = (name, x, kind) => {
      const [element, choose, unmark] = heatMap({
        title: `${name}${which} ${shape}`, data: part(x), columns, rows: array.rows, heads: names, axes, kind,
        most: kind === "shares" ? 1 : largest(x) }, width, told, index => picked(x, index));
      state.figures.push({ of: x, first, size, choose, unmark });
      return element;
    };
    const pair = h("div", { className: "pair" }, figure(title, value, array.share ? "shares" : "values"));
    if (!covered && grad) pair.append(figure(_`gradient of ${array.of}`, grad, "gradients"));
    if (!covered && grad && axes[0] === "vocabulary") pair.append(h("p", { className: "note" }, largestRow(array)));
    return pair;
  });
}

// Which row of a gradient is the largest, in words.
function largestRow({ grad, rows: names }) {
  const sizes = rows(grad).map(row => Math.hypot(...row)), most = sizes.indexOf(Math.max(...sizes));
  return _`The row of ${names[most]} has the largest gradient: its norm is ${short(sizes[most])}. Click a number in it to see why.`;
}

// What Adam's box shows of one parameter: the weights with their gradients, and the step that they lead to.
function adamsArrays() {
  const { parameters, origins } = state.numbers, adam = new Adam(), name = state.weight || normsOf(parameters)[0][0];
  const { grad } = parameters[name], step = adam.step(grad);
  origins.set(step, adam, adam.terms({ grad }).y);
  const array = weightArray(name, parameters[name], /embedding/.test(name) || name === "output.weight" ? "output" : "");
  return [array, { ...array, title: _`Adam's first step, in learning rates`, value: step, grad: null, path: null }];
}

// A table: names of the columns, rows of cells.
const table = (head, body) => h("div", { className: "scroll" }, h("table", {},
  h("thead", {}, h("tr", {}, ...head.map(one => h("th", { scope: "col" }, one)))),
  h("tbody", {}, ...body.map(row => h("tr", {}, ...row.map(one => h("td", {}, one instanceof Node ? one : String(one))))))));

// For each position the right token, the loss on it, and what the model would rather write.
function predictions(logits) {
  const read = tokensOf("decoder"), head = [_`token read`, _`right token`, _`its probability`, "-log p", _`likeliest tokens`];
  return table(head, rows(probabilities(logits)).map((p, t) => {
    const right = state.batch.next_target[t], ids = [...p.keys()].sort((a, b) => p[b] - p[a]).slice(0, 4);
    const loss = right === PAD ? ["", _`padding: not counted`] : [short(p[right]), short(-Math.log(p[right]))];
    return [read[t], tokenOf(right), ...loss,
            ids.map(id => `${tokenOf(id)} ${(100 * p[id]).toFixed(1)} %`).join("   ")];
  }));
}

// The parameters with the norms of their gradients, the largest first: as numbers, and as a table.
const normsOf = parameters => Object.entries(parameters).map(([name, { grad }]) => [name, grad.data ? norm(grad) : grad])
  .sort((a, b) => b[1] - a[1]);

function norms(parameters) {
  const sizes = normsOf(parameters);
  const shown = weight => () => {
    Object.assign(state, { weight, number: null, trail: [] });
    showPanel();
  };
  return table([_`parameter`, _`norm of its gradient`, ""], sizes.map(([name, size]) => [
    LIVE ? h("button", { type: "button", onclick: shown(name) }, name) : name, short(size),
    h("span", { className: "bar", style: `--share: ${size / sizes[0][1]}` })]));
}
