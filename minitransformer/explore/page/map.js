// Figure 1 of the run's own configuration, from the table of boxes and lines that `plot architecture` draws: inches, y upwards.

const INCH = 100, BARE = ["label", "probabilities"], PANELS = ["encoder", "decoder", "multi_head", "attention"];

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// The map as an <svg> whose boxes call opened(index), and a function that shows on it what `look` says of each box.
function drawMap(map, places, opened) {
  const [full, groups] = [map.height * INCH, []], at = ([x, y]) => [x * INCH, full - y * INCH];
  const lines = map.lines.map(({ points, colour, style, end }) => svg("polyline", {
    points: points.map(at).join(" "), fill: "none", class: `line ${end === "-" ? "" : "arrow"}`,
    style: `--ink: ${colour.replace("tab:", "var(--") + (colour.startsWith("tab:") ? ")" : "")}`,
    "stroke-dasharray": { "-": "none", "--": "6 4", ":": "1 4" }[style] }));
  const last = Object.fromEntries(map.boxes.map(({ kind }, i) => [kind, i]));    // the one that an address can name
  map.boxes.forEach((box, i) => {
    const [left, top] = at([box.x - box.width / 2, box.y + box.height / 2]), wide = box.width * INCH, high = box.height * INCH;
    const panel = PANELS.includes(box.kind), round = box.name === "+", bare = BARE.includes(box.kind);
    const text = { x: left + 5, y: top + 14, class: "name" }, right = box.x < 4 && box.x > 2;
    const group = svg("g", { class: `box ${box.kind} ${panel ? "panel" : ""}` });
    if (last[box.kind] === i) group.id = `box-${box.kind}`;
    const rect = { x: left, y: top, width: wide, height: high, rx: panel || round ? 10 : 4 };
    if (!bare) group.append(svg("rect", rect));
    if (box.kind === "attention") Object.assign(text, { x: left + wide - 8, y: top + high / 2, class: "name upright" });
    else if (panel) Object.assign(text, { x: right ? left + wide - 5 : left + 2, y: top - 5, class: right ? "name end" : "name" });
    else if (round || bare || high < 25) Object.assign(text, { x: left + wide / 2, y: top + high / 2 + 4, class: "name middle" });
    group.append(svg("text", text, box.name));
    if (places[i]) {
      const narrow = wide < 70, tall = high > 25;
      const line = y => svg("text", { x: left + 5, y: top + y, class: "shape" });
      const shape = line(narrow ? 25 : high - 6), size = narrow ? line(35) : shape;
      const [across, down, width, height] = narrow ? [5, 39, wide - 10, 13] : wide > 150 ? [wide - 40, 5, 35, high - 10]
        : wide > 110 ? [wide - 40, 19, 36, high - 23] : [wide - 35, 4, 31, 15];
      const place = { x: left + across, y: top + down, width, height };
      const image = svg("image", { preserveAspectRatio: "none", class: "picture", ...place });
      if (tall) group.append(shape, size, image);
      group.append(svg("text", { x: left + wide - 1, y: top + 6, class: "cross" }, "✗"));
      Object.entries({ tabindex: 0, role: "button" }).forEach(([name, value]) => group.setAttribute(name, value));
      group.onclick = () => opened(i);
      group.onkeydown = event => { if (["Enter", " "].includes(event.key)) { event.preventDefault(); opened(i); } };
      groups.push([i, group, shape, size, image]);
    }
    (panel ? lines.unshift(group) : lines.push(group));
  });
  const arrow = svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6,
                                orient: "auto-start-reverse" }, svg("path", { d: "M0 0 L8 4 L0 8 z", fill: "context-stroke" }));
  const element = svg("svg", { viewBox: `0 0 ${7 * INCH} ${full}`, role: "group", "aria-label": "Figure 1: the model's boxes" },
                      svg("defs", {}, arrow), ...lines);

  function show(state, open, gradients) {
    element.classList.toggle("gradients", gradients);
    for (const [i, group, shape, size, image] of groups) {
      const { text = ["", ""], picture, wrong, says } = state[i];
      shape.textContent = text.join(" ");
      if (size !== shape) [shape.textContent, size.textContent] = text;
      image.setAttribute("href", picture || "data:,");
      image.style.visibility = picture ? "visible" : "hidden";
      group.classList.toggle("wrong", Boolean(wrong));
      group.classList.toggle("open", i === open);
      group.setAttribute("aria-label", says);
      group.setAttribute("aria-pressed", i === open);
    }
  }
  return [element, show];
}
