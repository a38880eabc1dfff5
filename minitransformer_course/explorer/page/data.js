// The data that the page carries, its vocabulary, and small helpers.

const DATA = JSON.parse(document.getElementById("data").textContent);

// A sentence in the language of the page, which is looked up with {0} and so on in place of its values.
function _(parts, ...values) {
  const text = parts.reduce((before, part, n) => `${before}{${n - 1}}${part}`);
  return (DATA.words[text] || text).replace(/\{(\d)\}/g, (_all, n) => values[n]);
}
const find = id => document.getElementById(id);

// An element: h("button", {id: "x", onclick}, "text", child, ...).
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// Numbers in base64, as the arrays that `shapes` describes, {name: shape} in the same order.
function unpack(text, dtype, shapes) {
  const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer;
  const numbers = Float64Array.from(new { float32: Float32Array, float64: Float64Array }[dtype](bytes));
  let start = 0;
  return Object.fromEntries(Object.entries(shapes).map(([name, shape]) => {
    const size = shape.reduce((a, b) => a * b, 1);
    start += size;
    return [name, new Tensor(shape, numbers.slice(start - size, start))];
  }));
}

// A token as visible text: blanks as symbols, a combining mark on a dotted circle, and the marks of direction isolated.
const visible = token => token.replaceAll(" ", "␣").replaceAll("\n", "↵").replace(/^(?=\p{M})/u, "◌");
const tokenOf = id => visible(DATA.vocabulary.tokens[id]);

const idOf = new Map(DATA.vocabulary.tokens.map((token, id) => [token, id]).slice(EOS + 1));    // no text holds a special one

// The tokens of a text: characters, symbols that need no blanks between them if they are letters, or pieces with blanks between.
function split(text) {
  const { kind } = DATA.vocabulary;
  if (kind === "characters") return [...text].map(one => one === "↵" && !idOf.has(one) ? "\n" : one);    // a field has one line
  const words = text.split(kind === "symbols" ? /[\s-]+/ : /\s+/).filter(word => word);
  const isWord = word => kind !== "symbols" || idOf.has(word) || ![...word].every(letter => idOf.has(letter));
  return words.flatMap(word => isWord(word) ? [word] : [...word]);
}

// The ids of a text, or a sentence that says which token is unknown: {ids} or {problem}.
function encode(text, size, most) {
  const words = split(text.normalize("NFC"));
  const unknown = words.find(word => !(idOf.get(word) < size));
  if (unknown !== undefined) return { problem: _`“${visible(unknown)}” is not a token of this model` };
  if (words.length > most) return { problem: _`${words.length} tokens are too many for this page, which takes ${most}` };
  return { ids: words.map(word => idOf.get(word)) };
}

const decode = ids => ids.filter(id => id > EOS).map(id => DATA.vocabulary.tokens[id]).join(DATA.vocabulary.joint)
  .replaceAll("\n", "↵");

// A number as text: exact enough to compare, short enough to read.
const short = a => a === 0 ? "0" : Math.abs(a) >= 0.001 && Math.abs(a) < 10000 ? String(+a.toPrecision(3)) : a.toExponential(1);
const exact = a => a === -Infinity ? "masked" : a === 0 ? "0" : a.toPrecision(9);
const norm = x => Math.sqrt(x.data.reduce((sum, a) => Number.isFinite(a) ? sum + a * a : sum, 0));
const largest = x => x.data.reduce((most, a) => Number.isFinite(a) ? Math.max(most, Math.abs(a)) : most, 0);
