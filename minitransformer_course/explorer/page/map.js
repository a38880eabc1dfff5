// Figure 1 of the run's own configuration, from the table of boxes and lines that `plot architecture` draws (inches, y upwards),
// stretched to the width and the height that it is given: letters keep their size, so that they can be read on a phone.

const PANELS = ["encoder", "decoder", "multi_head", "attention"], LETTERS = 11;

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const ruler = document.createElement("canvas").getContext("2d");
function widthOf(text, size) {
  ruler.font = `${size}px system-ui, sans-serif`;
  return ruler.measureText(text).width;
}

// What a box is called, the best name first: with the names of the weights that it uses, then shorter, for a narrow box.
function namesOf(box, place) {
  const { activation } = DATA.config, kind = place ? place.kind : box.kind, short = box.name.replace(/[,(].*/, "").trim();
  return [...({
    query: ["W_Q"], key: ["W_K"], value: ["W_V"], attention_output: ["Linear, W_O", "W_O"],
    feed_forward: [`Feed-forward W₁, ${activation === "relu" ? "ReLU" : "GELU"}, W₂`, "Feed-forward W₁, W₂", "Feed-forward", "FFN"],
    layer_norm: ["LayerNorm γ, β", "LayerNorm"], scores: [box.name, "Scores", "q kᵀ"], merge: [box.name, "Merge"],
    weighted_sum: [box.name, "Sum of p v", "p v"], cross_attention: [box.name, "Cross-att."], positions: [box.name, "Pos. ∿"],
    self_attention: [box.name, box.name.replace("attention", "att."), "Self-att."], probabilities: [box.name, "p"],
    encoder: [box.name, short], multi_head: [`${box.name}: inside`, "Inside attention", "Inside"],
  })[kind] || [box.name, short, short.slice(0, 4)]];
}

const inside = ({ x, y, width, height }, [px, py]) => Math.abs(px - x) < width / 2 + 0.03 && Math.abs(py - y) < height / 2 + 0.03;

// How a gradient goes along a line: "back", against its arrow; "on", along it, from the loss to Adam; "none"; or, of the three
// arrows into self-attention and the line below them, "fan" and "trunk". Dotted lines ("zoom") only show what is inside of a box.
function flowOf({ points, style, end }, boxes, places) {
  if (end === "-") return style === ":" ? "zoom" : "trunk";
  const at = point => boxes.findLastIndex(box => ![...PANELS, "label"].includes(box.kind) && inside(box, point));
  const from = at(points[0]), to = at(points.at(-1));
  const kind = places[to] ? places[to].kind : boxes[to].kind;
  if (kind === "adam") return "on";
  if (["decoding", "tokens", "embedding", "softmax_output", "probabilities"].includes(kind)) return "none";
  if (from >= 0 && boxes[from].kind === "positions" && boxes[from].name.includes("∿")) return "none";    // a constant
  return kind === "self_attention" ? "fan" : "back";
}

function drawLine(line, flow, at, boxes) {
  const ink = line.colour.startsWith("tab:") ? `var(--${line.colour.slice(4)})` : line.colour, { points, end, style } = line;
  const [output, loss] = ["output", "loss"].map(kind => boxes.find(box => box.kind === kind));
  const all = inside(loss, points.at(-1)) ? [[output.x, output.y + output.height / 2], ...points] : points;    // from the logits
  return svg("polyline", { class: `line ${flow}${end === "-" ? "" : " arrow"}`, style: `--ink: ${ink}`,
                           points: all.map(at).join(" "), "stroke-dasharray": { "-": "none", "--": "6 4", ":": "1 4" }[style] });
}

// The free rectangle to the left of the decoder: [left, top, right, bottom] in inches.
function cornerOf({ boxes, height }) {
  const [memory, adam] = ["memory", "Adam"].map(name => boxes.find(box => box.name === name));
  return memory ? [0.2, height - 0.02, 2.45, memory.y + 0.24] : [0.2, adam.y - 0.26, 2.45, 0.65];
}

// The map as an <svg> whose boxes call opened(index); a function that shows on it what `look` says of each box; and the place
// of the free corner, [left, top, width, height].
function drawMap(map, places, opened, width, height, letters = LETTERS) {
  const [sx, sy] = [width / 7, height / map.height], at = ([x, y]) => [x * sx, height - y * sy];
  const panels = [], boxes = [], shows = [];
  const last = Object.fromEntries(map.boxes.map(({ kind }, i) => [kind, i]));    // the one that an address can name
  map.boxes.forEach((box, i) => {
    const [left, top] = at([box.x - box.width / 2, box.y + box.height / 2]), wide = box.width * sx, high = box.height * sy;
    const panel = PANELS.includes(box.kind), group = drawBox(box, places[i], { left, top, wide, high, letters });
    if (last[box.kind] === i) group.id = `box-${box.kind}`;
    if (places[i]) shows.push(makeButton(group, { left, top, wide, high, letters }, i, opened));
    (panel ? panels : boxes).push(group);
  });
  const arrow = svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6,
                                orient: "auto-start-reverse" }, svg("path", { d: "M0 0 L8 4 L0 8 z", fill: "context-stroke" }));
  const lines = map.lines.map(line => drawLine(line, flowOf(line, map.boxes, places), at, map.boxes));
  const element = svg("svg", { width, height, role: "group", "aria-label": _`Figure 1: the model's boxes`,
                               style: `font-size: ${letters}px` },
                      svg("defs", {}, arrow), ...panels, ...lines, ...boxes);
  const corner = cornerOf(map), [left, top] = at(corner), [right, bottom] = at(corner.slice(2));
  return [element, (looks, open, gradients, sources) => {
    element.classList.toggle("gradients", gradients);
    for (const show of shows) show(looks, open, sources);
  }, [left, top, right - left, bottom - top]];
}

// A box with the longest of its names that fits.
function drawBox(box, place, { left, top, wide, high, letters }) {
  const panel = PANELS.includes(box.kind), round = box.name === "+", bare = ["label", "probabilities"].includes(box.kind);
  const group = svg("g", { class: `box ${box.kind}${panel ? " panel" : ""}` });
  if (round) group.append(svg("rect", { x: left + wide / 2 - 8, y: top + high / 2 - 8, width: 16, height: 16, rx: 8 }));
  else if (!bare) group.append(svg("rect", { x: left, y: top, width: wide, height: high, rx: panel ? 10 : 4 }));
  const names = round ? ["+"] : namesOf(box, place), room = box.kind === "encoder" ? wide / 2 : wide + (bare ? 8 : -6);
  const name = names.find(one => widthOf(one, letters) < room) || names.at(-1);
  const write = (x, y, how = "", text = name) => text && group.append(svg("text", { x, y, class: how }, text));
  if (box.kind === "attention") write(left + wide - letters * 0.7, top + high / 2, "middle upright", box.name);
  else if (box.kind === "decoder") write(left + wide - 5, top - 4, "end");    // beside the lines of the residual connections
  else if (panel) write(left + 2, top - 4);
  else if (box.name === "gradients") write(left + wide * 0.24 + 6, top + high / 2 + 4);
  else if (round || bare || high < 2 * letters) write(left + wide / 2, top + high / 2 + 4, "middle");
  else write(left + 4, top + letters + 1);
  return group;
}

// Makes a box a button with a shape, a norm and a picture below its name; returns a function that sets them.
function makeButton(group, { left, top, wide, high, letters }, i, opened) {
  const down = letters + 5, below = high - down - 2, narrow = below > 2 * letters;    // then the picture is below the shape
  const image = svg("image", { preserveAspectRatio: "none", class: "picture" });
  const text = svg("text", { x: left + 4, y: top + down + letters - (narrow ? 1 : 2), class: "shape" });
  if (below > 6) group.append(image, text);
  group.append(svg("text", { x: left + wide - 1, y: top + 6, class: "cross" }, "✗"));
  group.setAttribute("tabindex", 0);
  group.setAttribute("role", "button");
  group.onclick = () => opened(i);
  group.onkeydown = event => {
    if (!["Enter", " "].includes(event.key)) return;
    event.preventDefault();
    opened(i);
  };
  let drawn = null;
  return (looks, open, sources) => {
    const { text: [shape, size] = ["", ""], picture, wrong, says } = looks[i];
    group.classList.toggle("open", i === open);
    group.classList.toggle("source", sources.includes(i));
    group.setAttribute("aria-pressed", i === open);
    if (drawn === looks[i]) return;
    drawn = looks[i];
    const room = wide - 8 - (picture && !narrow ? 26 : 0), fits = one => widthOf(one, letters) <= room;
    text.textContent = [`${shape} ${size}`, shape, size].find(fits) || "";
    if (below <= 6) text.textContent = "";
    const [right, over] = !text.textContent ? [0, 0] : narrow ? [0, letters + 4] : [widthOf(text.textContent, letters) + 5, 0];
    const sizes = { x: left + 4 + right, y: top + down + over, width: wide - 8 - right, height: below - 1 - over };
    for (const [name, value] of Object.entries(sizes)) image.setAttribute(name, Math.max(1, value));
    if (picture) image.setAttribute("href", picture);
    else image.removeAttribute("href");
    group.classList.toggle("wrong", Boolean(wrong));
    group.setAttribute("aria-label", says);
  };
}
