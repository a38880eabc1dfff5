// The state of the page, and its controls.

const LIVE = Boolean(DATA.weights), SMALLEST_STEP = 1e-4;
const state = { batch: DATA.batch, numbers: null, right: null, wrong: null, layer: {}, attention: null, open: 0, uncovered: new Set(), set: 0 };
const places = placesOf(DATA.map.boxes);
const [figure, showMap] = drawMap(DATA.map, places, openBox);
const covers = () => find("cover").checked;

// The place of a box with the number of its layer and the attention shown.
function resolved(place) {
  const path = place.path && place.path.replace("@", state.attention);
  return { ...place, path: path && path.replace("*", state.layer[path.split(".")[0]]) };
}

// The numbers that the page carries, in the form in which `measure` gives them.
function recorded() {
  const { record, parameters } = DATA.recorded, arrays = unpack(record.data, "float32", record.shapes);
  return { loss: DATA.recorded.loss, model: null, parameters: Object.fromEntries(Object.entries(parameters).map(([name, norm]) => [name, { grad: norm }])),
    record: Object.fromEntries(record.paths.map(path => [path, { y: arrays[`${path} y`], dy: arrays[`${path} dy`], dx: [] }])) };
}

// Computes everything anew: the right numbers and, with a mistake, the wrong ones beside them.
function compute() {
  if (!LIVE) state.numbers = state.right = recorded();
  else {
    const model = new { Transformer, LanguageModel }[DATA.kind](DATA.config, unpack(DATA.weights[state.set].data, DATA.dtype, DATA.shapes));
    const once = mistakes => ({ ...measure(model, state.batch, DATA.smoothing, mistakes), model, parameters: model.parameters });
    const grads = () => Object.fromEntries(Object.entries(model.parameters).map(([name, { grad }]) => [name, like(grad, a => a)]));
    const mistakes = chosenMistakes();
    state.numbers = state.right = once({});
    state.wrong = null;
    if (Object.keys(mistakes).length) {
      const right = grads();
      state.numbers = once(mistakes);
      state.wrong = compare(state.numbers.record, state.right.record, grads(), right);
    }
  }
  show();
}

// Whether a gradient that belongs to a box is wrong.
function isWrong({ kind, path, parts }) {
  if (!state.wrong) return false;
  const { layers, weights } = state.wrong, { model } = state.numbers;
  if (kind === "adam") return Object.values(weights).some(Boolean);
  if (!layers[path]) return false;
  const own = Object.keys(weights).filter(name => kind === "embedding" ? model.layers[path].weight === model.parameters[name]
    : parts.includes("dx") && name.startsWith(`${path}.`));
  return parts.some(part => layers[path][part]) || own.some(name => weights[name]);
}

function stateOf(place, i) {
  if (!place) return null;
  const one = resolved(place), arrays = arraysOf(one, state.numbers), [array] = arrays, gradients = find("gradients").checked, wrong = isWrong(one);
  const { name } = DATA.map.boxes[i], hidden = gradients && covers() && !state.uncovered.has(i);
  const said = [{ "+": WORDS[place.kind][0] }[name] || name, one.path || ""];
  if (!array) return { wrong, says: [...said, ...(wrong ? ["wrong gradient"] : [])].join(", ") };
  const x = gradients ? array.grad : array.value, kind = gradients ? "gradients" : array.share ? "shares" : "values";
  const leaves = arrays.find(({ title }) => title === "y") || array, numbers = gradients ? leaves.grad : leaves.value;
  const shape = `(${leaves.value.shape.join(", ")})`, size = hidden ? "?" : short(norm(numbers));
  return { text: [shape, `‖${size}‖`], picture: hidden ? null : thumbnail(x, kind), wrong,
           says: [...said, `shape ${shape}`, `norm${gradients ? " of the gradient" : ""} ${size}`, ...(wrong ? ["wrong gradient"] : [])].join(", ") };
}

function show() {
  const { batch, numbers, wrong, open } = state, states = places.map(stateOf), red = states.filter(one => one && one.wrong).length;
  showMap(states, open, find("gradients").checked);
  find("loss").textContent = `Loss for each token: ${numbers.loss.toPrecision(6)}`;
  find("red").textContent = !wrong ? "" : red ? `✗ ${red} boxes of this map have a wrong gradient. The loss is the same: a mistake in a backward does not show in it.`
    : "No gradient is wrong: here the mistake makes no difference, or it lies in a layer that is not shown.";
  const covered = covers() && !state.uncovered.has(open);
  fillPanel(find("open"), DATA.map.boxes[open], resolved(places[open]), covered, () => { state.uncovered.add(open); show(); });
}

const isAttention = place => place && ["self_attention", "cross_attention"].includes(place.kind);

function openBox(i) {
  if (isAttention(places[i])) showInside(places[i].path);
  state.open = i;
  show();
  if (matchMedia("(max-width: 60em)").matches) find("open").scrollIntoView({ behavior: "smooth" });
}

function showInside(attention) {
  state.attention = attention;
  find("inside").value = attention;
}

function nudge(path, index, gradient) {
  const loss = step => lossNudged(state.numbers.model, state.batch, DATA.smoothing, path, index, step);
  const [above, below] = [loss(SMALLEST_STEP), loss(-SMALLEST_STEP)], slope = (above - below) / (2 * SMALLEST_STEP);
  const compared = gradient === null ? "" : ` The backward says ${exact(gradient)}: ` + (Math.abs(slope - gradient) <= 1e-6 * Math.max(1e-3, Math.abs(slope))
    ? `✓ they differ by ${Math.abs(slope - gradient).toExponential(1)}.` : "✗ that is not the slope.");
  return `Larger by ${SMALLEST_STEP} the loss is ${above.toPrecision(12)}, smaller by as much ${below.toPrecision(12)}. Slope: ${exact(slope)}.${compared}`;
}

// {path: wrong backward} of the switches that are on.
function chosenMistakes() {
  return Object.fromEntries(Object.entries(MISTAKES).filter(([key]) => find(`mistake-${key}`).checked).map(([key, { wrong }]) => [
    find(`where-${key}`).value, wrong]));
}

function say(text) {
  find("said").textContent = text;
}

// Reads the fields; a token that cannot be encoded is named, and the last numbers stay.
function ask(event, writing = false) {
  if (event) event.preventDefault();
  const pads = Array(Math.max(0, Math.min(5, Math.round(find("padding").value) || 0))).fill(PAD), { sizes, limit } = DATA;
  const source = encode(find("source").value, sizes[0], limit);
  const missing = DATA.kind === "Transformer" ? 1 : 2;
  if (source.problem || source.ids.length < missing) return say(source.problem || `The text is too short: expected at least ${missing} token${"s".slice(2 - missing)}.`);
  if (DATA.kind !== "Transformer") {
    state.batch = { ids: [...source.ids.slice(0, -1), ...pads], next_target: [...source.ids.slice(1), ...pads] };
  } else {
    const read = [...source.ids, EOS];
    const target = writing ? { ids: write(read, limit) } : encode(find("target").value, sizes[1], limit);
    if (target.problem) return say(target.problem);
    if (writing) find("target").value = decode(target.ids);
    state.batch = { source: [...read, ...pads], target: [BOS, ...target.ids, ...pads], next_target: [...target.ids, EOS, ...pads] };
  }
  say("");
  compute();
}

// What the model writes, each time the likeliest token.
function write(source, limit) {
  const { model } = state.right, ids = [];
  while (ids.length < limit) {
    const [y] = model.hidden({ source, target: [BOS, ...ids] }), last = rows(model.output.forward(y)[0]).at(-1);
    const next = last.indexOf(Math.max(...last));
    if (next === EOS) break;
    ids.push(next);
  }
  return ids;
}

function choose(select, options, changed) {
  select.replaceChildren(...options.map(([value, text]) => h("option", { value }, text)));
  select.onchange = changed;
  select.closest("label").hidden = options.length < 2;
}

function begin() {
  const stacks = DATA.kind === "Transformer" ? ["encoder", "decoder"] : ["stack"];
  const layers = numbered(DATA.config.num_layers);
  for (const stack of ["encoder", "decoder", "stack"]) {
    state.layer[stack] = layers.length - 1;
    choose(find(`layer-${stack}`), stacks.includes(stack) ? layers.map(i => [i, i]) : [], event => { state.layer[stack] = Number(event.target.value); show(); });
    find(`layer-${stack}`).value = layers.length - 1;
  }
  const attentions = [...new Set(places.filter(isAttention).map(one => one.path))];
  choose(find("inside"), attentions.map(path => [path, path.replace(".layers.*.", ": ").replaceAll("_", "-")]), event => { state.attention = event.target.value; show(); });
  showInside(attentions.at(-1));
  find("map").append(figure);
  for (const id of ["values", "gradients", "cover"]) find(id).onchange = () => { state.uncovered.clear(); show(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  find("ask").onsubmit = ask;
  find("write").onclick = event => ask(event, true);
  find("padding").onchange = ask;
  find("time").max = (DATA.weights || [0]).length - 1;
  find("time").value = state.set = Number(find("time").max);
  find("time").closest("label").hidden = state.set < 1;
  const dated = () => { find("step").textContent = LIVE ? DATA.weights[state.set].name : ""; };
  find("time").oninput = event => { state.set = Number(event.target.value); dated(); compute(); };
  dated();
  const last = kind => places.findLastIndex(one => one && one.kind === kind);
  state.open = [location.hash.slice(1), "cross_attention", "self_attention"].map(last).find(i => i >= 0);
  if (isAttention(places[state.open])) showInside(places[state.open].path);
  if (LIVE) listMistakes();
  for (const part of document.querySelectorAll(!LIVE ? ".live" : stacks.length < 2 ? ".pair-only" : "none")) part.hidden = true;
  if (!LIVE) say("This model is too large for the page to compute: these are the recorded numbers of this one text.");
  compute();
}

function listMistakes() {
  const model = new { Transformer, LanguageModel }[DATA.kind](DATA.config, unpack(DATA.weights[0].data, DATA.dtype, DATA.shapes));
  find("mistakes").append(...Object.entries(MISTAKES).map(([key, { name, says, at }]) => {
    const paths = Object.values(model.layers).filter(layer => at(layer, model)).map(layer => layer.path).reverse();
    const where = h("select", { id: `where-${key}`, onchange: compute, "aria-label": `where: ${name}` }, ...paths.map(path => h("option", {}, path)));
    const box = h("input", { type: "checkbox", id: `mistake-${key}`, onchange: compute, disabled: !paths.length });
    return h("p", {}, h("label", {}, box, ` ${name}`), `: ${paths.length ? says : "this model ties no weights"} `, ...(paths.length ? ["in ", where] : []));
  }));
}

begin();
