// The controls of the page.

const places = placesOf(DATA.map.boxes);

// Fills a <select> with [value, text] and hides it if there is nothing to choose.
function offer(id, options, changed) {
  const select = find(id);
  select.replaceChildren(...options.map(([value, text]) => h("option", { value }, text)));
  select.onchange = () => changed(select.value);
  select.closest("label").hidden = options.length < 2;
}

function offerLayers() {
  const stacks = DATA.kind === "Transformer" ? ["encoder", "decoder"] : ["stack"], count = DATA.config.num_layers;
  for (const stack of ["encoder", "decoder", "stack"]) {
    offer(`layer-${stack}`, stacks.includes(stack) ? numbered(count).map(i => [i, i]) : [], value => {
      state.layer[stack] = Number(value);
      show();
    });
    find(`layer-${stack}`).value = state.layer[stack] = count - 1;
  }
  const attentions = [...new Set(places.filter(isAttention).map(one => one.path))];
  offer("inside", attentions.map(path => [path, path.replace(".layers.*.", ": ").replaceAll("_", "-")]), value => {
    showInside(value);
    show();
  });
  showInside(attentions.at(-1));
}

function offerTime() {
  const range = find("time"), last = DATA.weights.length - 1;
  Object.assign(range, { max: last, value: last });
  range.closest("label").hidden = last < 1;
  const left = DATA.left_out.map(step => step.toLocaleString("en"));
  find("left-out").textContent = left.length ? _`The slider has no room for the snapshots of step ${left.join(", ")}.` : "";
  const changed = () => {
    load(range.value);
    find("step").textContent = DATA.weights[range.value].name + (left.length ? _` (${left.length} left out)` : "");
  };
  range.oninput = () => {
    changed();
    compute();
  };
  changed();
}

function offerMistakes() {
  for (const [key, { at }] of Object.entries(MISTAKES)) {
    const box = find(`mistake-${key}`), where = find(`where-${key}`);
    const paths = Object.values(state.model.layers).filter(layer => at(layer, state.model)).map(layer => layer.path).reverse();
    where.append(...paths.map(path => h("option", {}, path)));
    box.disabled = !paths.length;    // no weights are tied
    box.onchange = where.onchange = () => {
      where.hidden = !box.checked;
      const [inside] = /^.*_attention(?=\.)/.exec(where.value.replace(/layers\.\d+/, "layers.*")) || [];
      if (box.checked && inside) showInside(inside);    // its boxes will turn red
      compute();
    };
  }
}

// {path: wrong backward} of the switches that are on.
function chosenMistakes() {
  const on = Object.entries(MISTAKES).filter(([key]) => find(`mistake-${key}`).checked);
  return Object.fromEntries(on.map(([key, { wrong }]) => [find(`where-${key}`).value, wrong]));
}

function begin() {
  document.body.classList.toggle("framed", window.top !== window);    // where a title stands above the frame
  offerLayers();
  if (LIVE) {
    offerTime();
    offerMistakes();
  }
  const missing = !LIVE ? ".live" : DATA.kind === "Transformer" ? ".recorded" : ".recorded, .pair-only";
  for (const part of document.querySelectorAll(missing)) part.hidden = true;
  for (const id of ["values", "gradients", "cover"]) {
    find(id).onchange = () => {
      state.uncovered.clear();
      show();
    };
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  fitMap();
  addEventListener("resize", fitMap);
  [...find("zoom").children].forEach((button, i) => {
    button.onclick = () => {
      state.zoom = [Math.min(4, state.zoom * 1.4), 1, Math.max(1, state.zoom / 1.4)][i];
      fitMap();
    };
  });
  find("lower").onclick = () => document.body.classList.remove("raised");
  find("ask").onsubmit = ask;
  find("write").onclick = event => ask(event, true);
  find("padding").onchange = ask;
  const last = kind => places.findLastIndex((one, i) => one && DATA.map.boxes[i].kind === kind);
  state.open = [location.hash.slice("#box-".length), "cross_attention", "self_attention"].map(last).find(i => i >= 0);
  if (isAttention(places[state.open])) showInside(places[state.open].path);
  compute();
  if (location.hash.startsWith("#box-")) addEventListener("load", () => setTimeout(() => {
    scrollTo(0, 0);    // the whole map, not the box at the top
    raise();
  }));
  offerTour();
}

begin();
