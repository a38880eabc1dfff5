// Figure 1 of the run's own configuration, from the table of boxes and lines that `plot architecture` draws: inches, y upwards.

const INCH = 100, BARE = ["label", "probabilities"], PANELS = ["encoder", "decoder", "multi_head", "attention"];

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function drawLine({ points, colour, style, end }, at) {
  const ink = colour.startsWith("tab:") ? `var(--${colour.slice(4)})` : colour;
  return svg("polyline", { points: points.map(at).join(" "), class: end === "-" ? "line" : "line arrow", style: `--ink: ${ink}`,
                           "stroke-dasharray": { "-": "none", "--": "6 4", ":": "1 4" }[style] });
}

// A box with its name.
function drawBox(box, left, top, wide, high) {
  const panel = PANELS.includes(box.kind), round = box.name === "+", bare = BARE.includes(box.kind);
  const group = svg("g", { class: `box ${box.kind}${panel ? " panel" : ""}` });
  if (!bare) group.append(svg("rect", { x: left, y: top, width: wide, height: high, rx: panel || round ? 10 : 4 }));
  const write = (x, y, how = "") => group.append(svg("text", { x, y, class: how }, box.name));
  if (box.kind === "attention") write(left + wide - 8, top + high / 2, "middle upright");
  else if (box.kind === "decoder") write(left + wide - 5, top - 5, "end");    // beside the lines of the residual connections
  else if (panel) write(left + 2, top - 5);
  else if (round || bare || high < 25) write(left + wide / 2, top + high / 2 + 4, "middle");
  else write(left + 5, top + 14);
  return group;
}

// Where things are in a box: [x, y, width, height] of its picture, and the heights of the shape and of the norm.
function layout(wide, high) {
  if (wide < 70) return { picture: [5, 39, wide - 10, 13], shape: 25, norm: 35 };
  const picture = wide < 110 ? [wide - 35, 4, 31, 15]
    : wide < 150 && high > 25 ? [wide - 40, 19, 36, high - 23] : [wide - 40, 5, 35, high - 10];
  return { picture, shape: high - 6, norm: null };
}

// The map as an <svg> whose boxes call opened(index), and a function that shows on it what `look` says of each box.
function drawMap(map, places, opened) {
  const full = map.height * INCH, at = ([x, y]) => [x * INCH, full - y * INCH], panels = [], boxes = [], shows = [];
  const last = Object.fromEntries(map.boxes.map(({ kind }, i) => [kind, i]));    // the one that an address can name
  map.boxes.forEach((box, i) => {
    const [left, top] = at([box.x - box.width / 2, box.y + box.height / 2]), wide = box.width * INCH, high = box.height * INCH;
    const group = drawBox(box, left, top, wide, high);
    if (last[box.kind] === i) group.id = `box-${box.kind}`;
    if (places[i]) shows.push(makeButton(group, left, top, wide, high, i, opened));
    (PANELS.includes(box.kind) ? panels : boxes).push(group);
  });
  const arrow = svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6,
                                orient: "auto-start-reverse" }, svg("path", { d: "M0 0 L8 4 L0 8 z", fill: "context-stroke" }));
  const element = svg("svg", { viewBox: `0 0 ${7 * INCH} ${full}`, role: "group", "aria-label": "Figure 1: the model's boxes" },
                      svg("defs", {}, arrow), ...panels, ...map.lines.map(line => drawLine(line, at)), ...boxes);
  return [element, (looks, open, gradients) => {
    element.classList.toggle("gradients", gradients);
    for (const show of shows) show(looks, open);
  }];
}

// Makes a box a button with a shape, a norm and a picture; returns a function that sets them.
function makeButton(group, left, top, wide, high, i, opened) {
  const { picture: [x, y, width, height], shape, norm } = layout(wide, high), tall = high > 25;
  const image = svg("image", { x: left + x, y: top + y, width, height, preserveAspectRatio: "none", class: "picture" });
  const texts = [shape, norm ?? shape].map(down => svg("text", { x: left + 5, y: top + down, class: "shape" }));
  if (tall) group.append(image, ...texts);
  group.append(svg("text", { x: left + wide - 1, y: top + 6, class: "cross" }, "✗"));
  group.setAttribute("tabindex", 0);
  group.setAttribute("role", "button");
  group.onclick = () => opened(i);
  group.onkeydown = event => {
    if (!["Enter", " "].includes(event.key)) return;
    event.preventDefault();
    opened(i);
  };
  return (looks, open) => {
    const { text = ["", ""], picture, wrong, says } = looks[i];
    texts[1].textContent = norm ? text[1] : "";
    texts[0].textContent = norm ? text[0] : text.join(" ");
    if (picture) image.setAttribute("href", picture);
    else image.removeAttribute("href");
    group.classList.toggle("wrong", Boolean(wrong));
    group.classList.toggle("open", i === open);
    group.setAttribute("aria-label", says);
    group.setAttribute("aria-pressed", i === open);
  };
}
