// Where a number came from: the products whose sum it is, the largest of them in words, and a way on to each of their factors.

const TOP = 4;    // terms that are written out; the others are summed up

// A number of a view (heads cut or merged, some columns) is the same number of the array behind it.
function behind(array, i) {
  while (array.view) [array, i] = [array.view[0], array.view[1](i)];
  return [array, i];
}

// {array: {path, what: "value", "gradient" or what else it is}}: the first layer that made it or, of a gradient, got it.
function namesOfArrays({ record, parameters, origins, mean }) {
  const names = new Map([[mean, { path: "loss", what: "mean" }]]);
  const name = (one, path, what) => {
    const [array] = one instanceof Tensor ? behind(one, 0) : [one];
    if (array instanceof Tensor && !(names.has(array) && boxOf(names.get(array).path) >= 0)) names.set(array, { path, what });
  };
  for (const [path, { y, dy, cache }] of Object.entries(record)) {
    if (path === "loss") name(cache.p, "softmax_output", "probability");
    name(y, path, "value");
    name(dy, path, "gradient");
    if (cache.normed) name(cache.normed, path, "normalised x");
    if (cache.table) name(cache.table, path, "P");
  }
  for (const [path, { data, grad }] of Object.entries(parameters)) {
    names.set(data, { path, what: "weight" });
    names.set(grad, { path, what: "gradient" });
  }
  for (const [array, { layer }] of origins.made) if (!names.has(array)) name(array, layer.path || "adam", "part of a gradient");
  return names;
}

// The number of the box that shows a layer or a parameter, or -1.
function boxOf(path) {
  const one = path.replace(/layers\.\d+/, "layers.*"), [, part] = /_attention\.(.+)$/.exec(one) || [], { model } = state;
  if (["loss", "adam", "softmax_output"].includes(path)) return places.findIndex(place => place && place.kind === path);
  const parameter = path && model.parameters[path];
  if (parameter) return boxOf(Object.values(model.layers).find(layer => Object.values(layer).includes(parameter)).path);
  const found = places.findIndex(place => place && place.path && (place.path === one || place.path === `@.${part}`));
  return found >= 0 || !path.includes(".") ? found : boxOf(path.slice(0, path.lastIndexOf(".")));
}

const WHAT = { mean: _`mean`, probability: _`probability`, value: _`value`, gradient: _`gradient`, weight: _`weight`, P: "P",
               "normalised x": _`normalised x`, "part of a gradient": _`part of a gradient`, constant: _`constant` };
const nameOf = array => state.names.get(array) || { path: "", what: "constant" };
const shortOf = array => nameOf(array).path.split(".").slice(-2).join(".");
const isGradient = array => nameOf(array).what.includes("gradient");

// [which number of its array it is, in words: "query a, key b"; the token that is looked at or written, or nothing]
function whereIn(array, i) {
  const { path } = nameOf(array), d = array.shape.at(-1), column = i % d, row = Math.floor(i / d), { batch } = state;
  if (array.data.length === 1) return [""];
  if (array.shape.length < 2) return [_`number ${column}`];
  const named = array.shape[0] === DATA.vocabulary.tokens.length;
  if (state.model.parameters[path]) return [_`row ${named ? tokenOf(row) : row}, column ${column}`];
  const reads = /^(source|encoder)|cross_attention\.(key|value)$/.test(path) ? batch.source : batch.target || batch.ids;
  const keys = /^encoder|cross/.test(path) ? batch.source : batch.target || batch.ids, length = array.shape.at(-2);
  const token = tokenOf(reads[row % length]), of = array.shape.length > 2 ? `${_`head ${Math.floor(row / length)}`}, ` : "";
  const written = /^(softmax_)?output$/.test(path) && d === state.numbers.record.output.y.shape[1] && tokenOf(column);
  const key = /(scores|softmax)$/.test(path) && tokenOf(keys[column]);
  if (key || written) return key ? [of + _`query ${token}, key ${key}`, key] : [_`after ${token}: ${written}`, written];
  return [of + _`token ${token}, dimension ${column}`];
}

function labelOf(array, i) {
  const { what, path } = nameOf(array), [where] = whereIn(array, i), number = exact(array.data[i]);
  if (!path) return `${WHAT[what]}${where && `, ${where}`}: ${number}`;
  return where ? _`${WHAT[what]} of ${path}, ${where}: ${number}` : _`${WHAT[what]} of ${path}: ${number}`;
}

// Makes a number the chosen one, in the box that shows it or, to stay, in the one that is open. back: on the way back.
function goTo(array, i, { back = false, stay = false } = {}) {
  [array, i] = behind(array, i);
  if (!state.names) state.names = namesOfArrays(state.numbers);
  if (stay) state.trail = [];
  else if (!back && state.number) state.trail.push(state.number);
  state.number = { array, i };
  const { path } = stay ? { path: "" } : nameOf(array), box = boxOf(path);
  const [, stack, layer] = /^(\w+)\.layers\.(\d+)/.exec(path) || [];
  const [attention] = /^.*_attention(?=\.)/.exec(path.replace(/layers\.\d+/, "layers.*")) || [];
  const other = stack && state.layer[stack] !== Number(layer) || attention && attention !== state.attention;
  if (stack) find(`layer-${stack}`).value = state.layer[stack] = Number(layer);
  if (attention) showInside(attention);
  const moves = box >= 0 && box !== state.open;
  if (moves) state.open = box;
  if (moves && isGradient(array)) state.uncovered.add(state.open);    // asked for
  state.sources = sourcesOf(array, i);
  if (other || !looks.length) show();
  else {
    showMap(looks, state.open, find("gradients").checked, state.sources);
    if (moves) showPanel();
    else explainNumber();
  }
  if (moves) raise(false);
}

const termsOf = (array, i) => state.numbers.origins.of(array, i);
const referred = terms => (terms || []).flat().filter(Array.isArray).map(([array, i, ...more]) => [...behind(array, i), ...more]);
const sourcesOf = (array, i) => [...new Set(referred(termsOf(array, i)).map(([one]) => boxOf(nameOf(one).path)))]
  .filter(box => box >= 0 && box !== state.open);

// Fills the place below the arrays with the origin of the chosen number.
function explainNumber() {
  const into = find("why"), { number, trail } = state;
  if (!into) return;
  into.replaceChildren();
  for (const { unmark } of state.figures) unmark();
  if (!number) return;
  into.parentElement.hidden = false;
  const { array, i } = number, terms = termsOf(array, i), value = array.data[i], uses = state.numbers.origins.uses.get(array);
  if (!mark(array, i)) find("open").querySelector(".readout").textContent = labelOf(array, i);
  if (trail.length) {
    const onclick = () => {
      const last = state.trail.pop();
      goTo(last.array, last.i, { back: true });
    };
    const back = h("button", { type: "button", id: "back", onclick }, _`← Back`);
    into.append(h("p", {}, back, h("small", {}, " ", [...trail, number].slice(-4).map(one =>
      isGradient(one.array) ? _`gradient of ${shortOf(one.array)}` : shortOf(one.array)).join(" › "))));
    back.focus({ preventScroll: true });
  }
  into.append(h("p", { className: "sum", role: "status" }, ...inWords(value, terms)));
  if (uses && uses.length > 1) into.append(h("p", {}, _`A matrix with ${uses.length} uses: the terms of all of them add up.`));
  if (!terms || !terms.length) return;
  const right = totalOf(terms);
  if (Math.abs(right - value) > 1e-9 * Math.max(Math.abs(right), largest(array))) {
    const differs = _`✗ These terms give ${short(right)}: a planted mistake makes ${short(value)} of them.`;
    into.append(h("p", { className: "differs" }, differs));
  }
  into.append(h("div", { className: "pair" }, ...operandsOf(terms)));
}

// The sum as text and buttons: "0.31 = [0.62] · [0.44] + ... + 13 smaller ones".
function inWords(value, terms) {
  if (!terms) return [_`${short(value)}: nothing in the model computes it. It is a weight that training has found, or a constant.`];
  if (!terms.length) return [_`${short(value)}: no term. Nothing reaches this number: it is masked, padding, or not used.`];
  const sorted = [...terms].map(factors => [productOf(factors), factors]).sort((a, b) => Math.abs(b[0]) - Math.abs(a[0]));
  const rest = sorted.slice(TOP), [before, after] = terms.outer || ["", ""];
  const written = sorted.slice(0, TOP).flatMap(([, [first, ...more]], n) => [first === -1 ? (n ? " - " : "-") : n ? " + " : "",
    ...(first === -1 ? more : [first, ...more]).flatMap((factor, k) => [k ? " · " : "", factorOf(factor)])]);
  const others = rest.length ? ` + ${rest.length === 1 ? _`1 smaller one` : _`${rest.length} smaller ones`}: ` +
    short(rest.reduce((sum, [product]) => sum + product, 0)) : "";
  return [`${short(value)} = ${before}`, ...written, others, after];
}

// A button with a number that leads to its own origin; where it says which token is meant, with that token.
function factorOf(factor) {
  if (!Array.isArray(factor)) return short(factor);
  const [array, i, , text = short] = factor, [one, n] = behind(array, i), [, token] = whereIn(one, n);
  const said = h("button", { type: "button", title: labelOf(one, n), onclick: () => goTo(one, n) }, text(array.data[i]));
  said.className = isGradient(one) ? "factor gradient" : "factor";
  said.setAttribute("aria-label", `${text(array.data[i])}: ${labelOf(one, n)}`);
  if (token) said.append(h("small", {}, ` ${token}`));
  return said;
}

// Small pictures of the arrays of which the products are made, with a frame around the numbers that take part.
function operandsOf(terms) {
  const used = new Map();
  for (const [array, i] of referred(terms)) used.set(array, (used.get(array) || new Set()).add(i));
  return [...used].slice(0, 4).map(([array, set]) => {
    const [count, d] = [array.shape.at(-2) || 1, array.shape.at(-1)], size = count * d;
    const first = Math.floor(Math.min(...set) / size) * size;    // of the head
    const cells = [...set].map(i => [Math.floor((i - first) / d), (i - first) % d]);
    const [top, left] = [0, 1].map(k => Math.min(...cells.map(cell => cell[k])));
    const [high, wide] = [[0, top], [1, left]].map(([k, from]) => Math.max(...cells.map(cell => cell[k])) + 1 - from);
    const frames = high * wide === cells.length ? [[top, left, high, wide]] : cells.slice(0, 40).map(cell => [...cell, 1, 1]);
    const kind = isGradient(array) ? "gradients" : "values";
    const picture = pixels(array.data.subarray(first, first + size), d, palette(kind, largest(array)));
    picture.style = `width: ${Math.max(30, Math.min(180, 6 * d))}px; height: ${Math.max(8, Math.min(90, 6 * count))}px`;
    const what = WHAT[nameOf(array).what], of = shortOf(array);
    const name = frames.length > 1 ? _`numbers of the ${what} of ${of}`
      : wide > 1 && high > 1 ? _`all of the ${what} of ${of}`
      : wide > 1 ? _`row of the ${what} of ${of}`
      : high > 1 ? _`column of the ${what} of ${of}` : _`number of the ${what} of ${of}`;
    const framed = frames.map(([t, l, y, x]) => h("i", { style:
      `top: ${100 * t / count}%; left: ${100 * l / d}%; height: ${100 * y / count}%; width: ${100 * x / d}%` }));
    return h("figure", {}, h("div", { className: "operand", role: "img", "aria-label": name }, picture, ...framed),
             h("figcaption", {}, name));
  });
}

// Frames the chosen number in the heat map that shows it, if one does.
const mark = (array, i) => state.figures.some(({ of, first, size, choose }) => {
  const at = behind(of, first)[0] === array ? numbered(size).findIndex((_, n) => behind(of, first + n)[1] === i) : -1;
  if (at >= 0) choose(at);
  return at >= 0;
});
