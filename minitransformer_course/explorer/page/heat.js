// Heat maps: arrays as colours that colour-blind readers can tell apart, with named axes and a scale.

const COLOURS = {    // [no light, light]: below 0, above 0; shares begin at 0
  values: [["#9ecaff", "#ffb35c"], ["#1f5fa8", "#c2590a"]],
  gradients: [["#7fd39a", "#d3a4ff"], ["#1b7a3d", "#6f2c9f"]],
  shares: [["#000000", "#9ecaff"], ["#000000", "#174f96"]],
};
const MASKED = [128, 128, 128];
const isLight = () => !matchMedia("(prefers-color-scheme: dark)").matches;
const channels = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));

// number -> [red, green, blue]: from the background at 0 to full colour at `most`.
function palette(kind, most) {
  const [below, above] = COLOURS[kind][+isLight()].map(channels), ground = isLight() ? [250, 250, 248] : [28, 30, 34];
  return a => {
    if (a === -Infinity) return MASKED;
    const share = most ? Math.min(1, Math.abs(a) / most) : 0, full = a < 0 ? below : above;
    return ground.map((g, c) => Math.round(g + share * (full[c] - g)));
  };
}

// A canvas of one pixel for each number of matrix (rows, columns).
function pixels(data, columns, colour) {
  const count = data.length / columns, canvas = h("canvas", { width: columns, height: count });
  const context = canvas.getContext("2d"), image = context.createImageData(columns, count);
  image.data.fill(255);    // opaque
  data.forEach((a, i) => colour(a).forEach((channel, c) => { image.data[4 * i + c] = channel; }));
  context.putImageData(image, 0, 0);
  return canvas;
}

// Heads (H, T, d) side by side: (T, H d).
const sideBySide = x => x.shape.length < 3 ? x : MultiHeadAttention.prototype.merge(x);

// A small picture of an array, as an address; twice the typical size of a number has the full colour.
function thumbnail(x, kind) {
  const flat = sideBySide(x), most = kind === "shares" ? 1 : 2 * norm(flat) / Math.sqrt(flat.data.length);
  return pixels(flat.data, flat.shape.at(-1), palette(kind, most)).toDataURL();
}

// A heat map as a figure. matrix: {title, data, columns, rows: names, heads: names of columns or null, axes: [of rows, of
// columns], kind, most}; told(index) when a number is pointed at, or reached with arrow keys; picked(index) when it is chosen.
// Returns it and two functions: choose(index) frames a number as if it were pointed at, and unmark() takes the frame away.
function heatMap(matrix, width, told, picked) {
  const { data, columns, kind, most, rows, heads } = matrix, count = data.length / columns;
  const canvas = h("canvas", { tabIndex: 0, role: "application" }), context = canvas.getContext("2d");
  const [ofRows, ofColumns] = matrix.axes.map(axis => AXES[axis]), { title } = matrix;
  canvas.setAttribute("aria-label",
    _`${title}: ${count} rows (${ofRows}), ${columns} columns (${ofColumns}). Arrow keys read the numbers out, Enter chooses one.`);
  const font = "12px system-ui, sans-serif", ink = () => getComputedStyle(document.body).color;
  context.font = font;
  const tall = count > 80 ? Math.max(1, Math.floor(640 / count)) : 16;
  const left = tall > 9 ? Math.min(120, 8 + Math.max(...rows.map(row => context.measureText(row).width))) : 8;
  const size = Math.max(1, Math.min(heads && columns < 30 ? 22 : 14, Math.floor((width - left) / columns)));
  const named = heads && size >= 9, turned = named && heads.some(head => context.measureText(head).width > size - 2);
  const top = !named ? 0 : turned ? Math.min(90, 8 + Math.max(...heads.map(head => context.measureText(head).width))) : 16;
  const [full, high] = [left + size * columns + 1, top + tall * count + 1], zoom = devicePixelRatio;
  Object.assign(canvas, { width: full * zoom, height: high * zoom });
  Object.assign(canvas.style, { width: `${full}px`, height: `${high}px` });
  const small = pixels(data, columns, palette(kind, most));
  let chosen = -1;

  function draw() {
    context.setTransform(zoom, 0, 0, zoom, 0, 0);
    context.clearRect(0, 0, full, high);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, left, top, size * columns, tall * count);
    Object.assign(context, { font, fillStyle: ink(), textBaseline: "middle", textAlign: "right" });
    if (tall > 9) rows.forEach((row, i) => context.fillText(row, left - 5, top + (i + 0.5) * tall, left - 6));
    if (named) heads.forEach((head, i) => {
      context.save();
      context.translate(left + (i + 0.5) * size, top - 5);
      if (turned) context.rotate(-Math.PI / 2);
      context.textAlign = turned ? "left" : "center";
      context.fillText(head, 0, turned ? 0 : -4, turned ? top : size + 4);
      context.restore();
    });
    Object.assign(context, { strokeStyle: "#888", lineWidth: 1 });
    context.strokeRect(left - 0.5, top - 0.5, size * columns + 1, tall * count + 1);
    if (chosen < 0) return;
    Object.assign(context, { strokeStyle: ink(), lineWidth: 2 });
    context.strokeRect(left + (chosen % columns) * size - 1, top + Math.floor(chosen / columns) * tall - 1, size + 2, tall + 2);
  }

  function choose(index) {
    chosen = index;
    draw();
    told(index);
  }

  function under(event) {
    const column = Math.floor((event.offsetX - left) / size), row = Math.floor((event.offsetY - top) / tall);
    return column >= 0 && column < columns && row >= 0 && row < count ? row * columns + column : -1;
  }
  canvas.onpointermove = event => { if (under(event) >= 0) choose(under(event)); };
  canvas.onclick = event => { if (under(event) >= 0) { choose(under(event)); picked(chosen); } };
  canvas.onkeydown = event => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    if (event.key === "Enter" && chosen >= 0) picked(chosen);
    if (!step) return;
    event.preventDefault();
    choose(chosen < 0 ? 0 : Math.max(0, Math.min(data.length - 1, chosen + step)));
  };
  draw();
  const scale = pixels(Float64Array.from({ length: 61 }, (_, i) => most * (kind === "shares" ? i / 60 : i / 30 - 1)), 61,
                       palette(kind, most));
  scale.setAttribute("aria-hidden", "true");
  const figure = h("figure", {}, h("figcaption", {}, h("strong", {}, title), ` ${ofRows} ↓, ${ofColumns} →`),
           h("div", { className: "scroll" }, canvas),
           h("div", { className: "scale" }, kind === "shares" ? "0" : short(-most), scale, short(most)));
  return [figure, choose, () => {
    chosen = -1;
    draw();
  }];
}
