// What the page shows, and how it is computed.

const LIVE = Boolean(DATA.weights);    // otherwise the numbers are recorded
const state = {
  batch: DATA.batch, numbers: null, wrong: null, model: null,
  layer: {},            // {stack: the number of its layer that the map shows}
  attention: null,      // the path, with * for that number, of the attention whose inside the map shows
  open: 0,              // the box that is open
  zoom: 1,              // of the map: 1 shows all of it
  number: null,         // the chosen number, {array, i}
  names: null,          // of arrays: see namesOfArrays
  trail: [],            // the numbers that were chosen before it
  sources: [],          // the boxes that hold the numbers of which it is made
  figures: [],          // the heat maps of the open box
  weight: null,         // the name of the parameter that Adam's box shows
  uncovered: new Set(), // boxes whose gradient a reader has asked for
};

function load(set) {
  const weights = unpack(DATA.weights[set].data, DATA.dtype, DATA.shapes);
  state.model = new { Transformer, LanguageModel }[DATA.kind](DATA.config, weights);
}

// Computes everything anew: the right numbers or, with {path: wrong backward}, the wrong ones, compared with them.
function compute() {
  const { model, batch } = state;
  Object.assign(state, { number: null, names: null, trail: [], sources: [] });
  if (!LIVE) {
    state.numbers = recorded();
    return show();
  }
  const once = mistakes => ({ ...measure(model, batch, DATA.smoothing, mistakes), model, parameters: model.parameters });
  const mistakes = chosenMistakes();
  state.numbers = once({});
  state.wrong = null;
  if (Object.keys(mistakes).length) {
    const right = state.numbers.record, rightGrads = gradsOf(model);
    state.numbers = once(mistakes);
    state.wrong = compare(state.numbers.record, right, gradsOf(model), rightGrads);
  }
  show();
}

// The numbers that the page carries, in the form in which `measure` gives them. Of parameters it has the gradients' norms.
function recorded() {
  const { loss, paths, shapes, data, norms } = DATA.recorded, arrays = unpack(data, "float32", shapes);
  const parameters = Object.entries(norms).map(([name, grad]) => [name, { grad }]);
  const layers = paths.map(path => [path, { y: arrays[`${path} y`], dy: arrays[`${path} dy`] }]);
  return { loss, model: null, parameters: Object.fromEntries(parameters), record: Object.fromEntries(layers) };
}

// A place on the map with the numbers of the layers shown.
function resolved(place) {
  const path = place.path && place.path.replace("@", state.attention);
  return { ...place, path: path && path.replace("*", state.layer[path.split(".")[0]]) };
}

// Whether a gradient that belongs to a place is wrong.
function isWrong({ kind, path, parts }) {
  if (!state.wrong) return false;
  const { layers, weights } = state.wrong, { model } = state;
  if (kind === "adam") return Object.values(weights).some(Boolean);
  if (!layers[path]) return false;
  const own = name => kind === "embedding" ? model.layers[path].weight === model.parameters[name]
    : parts.includes("dx") && name.startsWith(`${path}.`);
  return parts.some(part => layers[path][part]) || Object.keys(weights).some(name => weights[name] && own(name));
}

// What the map shows of a place: {text: [shape, norm], picture, wrong, says: what a screen reader says}.
function look(place, i) {
  if (!place) return null;
  const one = resolved(place), arrays = arraysOf(one, state.numbers), wrong = isWrong(one), gradients = find("gradients").checked;
  const says = [titleOf(i), one.path || []].flat(), end = wrong ? [_`wrong gradient`] : [];
  if (!arrays.length) {
    const count = { tokens: () => idsOf(one.side).length, decoding: () => state.batch.next_target.length }[one.kind];
    const shape = count ? `(${count()})` : one.kind === "adam" ? _`every weight` : "";
    return { wrong, text: [shape, ""], says: [...says, ...end].join(", ") };
  }
  const covered = gradients && isCovered(i), leaves = arrays.find(({ title }) => title === "y") || arrays[0];
  const shape = `(${leaves.value.shape.join(", ")})`, size = covered ? "?" : short(norm(gradients ? leaves.grad : leaves.value));
  const picture = gradients ? [arrays[0].grad, "gradients"] : [arrays[0].value, arrays[0].share ? "shares" : "values"];
  const text = place.kind === "loss" ? [`= ${short(state.numbers.loss)}`, ""] : [shape, `‖${size}‖`];
  return { wrong, text, picture: covered ? null : thumbnail(...picture),
           says: [...says, _`shape ${shape}`, gradients ? _`norm of the gradient ${size}` : _`norm ${size}`, ...end].join(", ") };
}

const isCovered = i => find("cover").checked && !state.uncovered.has(i);
const isAttention = place => place && ["self_attention", "cross_attention"].includes(place.kind);

let looks = [], figure, showMap, corner;

// Draws the map as large as there is room for it, times the zoom, and puts beside it what belongs there.
function fitMap() {
  const into = find("drawn"), top = find("map").getBoundingClientRect().top + scrollY;
  const width = Math.min(800, into.clientWidth || 660), height = Math.max(560, Math.min(1000, innerHeight - top - 6));
  const { zoom } = state, sizes = [width * zoom, height * zoom, LETTERS * Math.min(zoom, 1.4)];
  [figure, showMap, corner] = drawMap(DATA.map, places, openBox, ...sizes);
  into.style.height = `${height}px`;
  into.replaceChildren(figure);
  ["left", "top", "width", "height"].forEach((name, i) => { find("break").style[name] = `${corner[i]}px`; });
  find("zoom").style.left = DATA.kind === "Transformer" ? 0 : "6%";    // beside the line from decoding
  find("break").hidden = !LIVE || zoom > 1;
  if (!matchMedia("(max-width: 60em)").matches) find("side").style.maxHeight = `${height}px`;
  if (looks.length) showMap(looks, state.open, find("gradients").checked, state.sources);
}

function show() {
  const { numbers, wrong, open } = state;
  looks = places.map(look);
  showMap(looks, open, find("gradients").checked, state.sources);
  const red = looks.filter(one => one && one.wrong).length;
  find("loss").textContent = _`Loss for each token: ${numbers.loss.toPrecision(6)}`;
  find("red").textContent = !wrong ? ""
    : red ? _`✗ ${red} boxes of this map have a wrong gradient. The loss is as before: a wrong backward does not show in it.`
      : _`No gradient is wrong: the mistake makes no difference here, or it lies in a layer that the map does not show.`;
  showPanel();
  tellStep();
}

// On a phone the panel is raised over the lower half of the screen, and the page moves only if the box would be below it.
function raise(up = true) {
  if (up) document.body.classList.add("raised");
  if (!matchMedia("(max-width: 60em)").matches) return;
  if (up) find("side").scrollTop = 0;
  const { top, bottom } = document.querySelector(".box.open").getBoundingClientRect();
  const room = find("side").getBoundingClientRect().top - 10;
  if (bottom > room || top < 0) scrollBy(0, top < 0 ? top - 10 : bottom - room);
}

function openBox(i) {
  if (isAttention(places[i])) showInside(places[i].path);
  Object.assign(state, { open: i, number: null, trail: [], sources: [] });
  show();
  raise();
}

function showInside(attention) {
  state.attention = attention;
  find("inside").value = attention;
}
