// The reader's work, kept in this browser. An entry of an exercise is {text, passed}: what was written last, and what passed
// last; it `fails` if that does not pass any more.
const PLACE = "minitransformer/";
const HEAD = /^# ---- (\w+)(?: \(\w+\))?(, passed)? ----$/m;    // of a part of the file that one takes along

const attempt = work => { try { return work(); } catch { return null; } };    // storage may be forbidden, or full
const raw = name => attempt(() => localStorage.getItem(PLACE + name));
const entry = text => {
  const found = attempt(() => JSON.parse(text));
  return typeof found?.text === "string" ? found : text && {text};    // of another version: it is shown as it is
};

// Whether it is kept. one: an entry, or null for nothing
export const put = (name, one) => attempt(() => {
  if (one) localStorage.setItem(PLACE + name, JSON.stringify(one));
  else localStorage.removeItem(PLACE + name);
  return true;
});

// {name of an exercise: entry}
export function all() {
  const keys = attempt(() => Object.keys(localStorage).filter(key => key.startsWith(PLACE))) ?? [];
  return Object.fromEntries(keys.map(key => key.slice(PLACE.length)).map(name => [name, entry(raw(name))]));
}

// {name: text} of all functions that passed, on whichever page. A page proves them again before it uses them.
export function passed(entries = all()) {
  const found = Object.entries(entries).filter(([, one]) => one.passed && !one.fails);
  return Object.fromEntries(found.map(([name, one]) => [name, one.passed]));
}

// What is kept of one exercise, as this tab knows it. given: what everybody begins with, which is not kept
export class Kept {
  constructor(name, given) { [this.name, this.given] = [name, given]; this.read(); }

  get stale() { return raw(this.name) !== this.seen; }

  read() {
    [this.seen, this.trouble] = [raw(this.name), ""];
    this.entry = entry(this.seen);
  }

  // Keep what changed, or say in `trouble` why it is not kept: "other", if another tab wrote in the meantime, or "full".
  write(change) {
    this.entry = {...this.entry, ...change};
    const {text, passed} = this.entry;
    this.trouble = this.stale ? "other" : put(this.name, text !== this.given || passed ? this.entry : null) ? "" : "full";
    if (!this.trouble) this.seen = raw(this.name);
  }
}

// A file that a person can read, and that `learn start --from` takes up. chapters: {chapter: [names of exercises]}
export function asFile(entries, chapters, said) {
  const homes = Object.fromEntries(Object.entries(chapters).flatMap(([chapter, names]) => names.map(name => [name, ` (${chapter})`])));
  const part = (name, text, how) => `\n\n# ---- ${name}${homes[name] ?? ""}${how} ----\n\n${text.replace(/^# ----/gm, "#  ----").trimEnd()}\n`;
  const parts = Object.keys({...homes, ...entries}).filter(name => entries[name]).flatMap(name => {
    const {text, passed} = entries[name];
    return [passed ? part(name, passed, ", passed") : "", text === passed ? "" : part(name, text, "")];
  });
  return `"""${said}"""\n\nimport math\n\nimport numpy as np\n${parts.join("")}`;
}

// The entries of such a file.
export function ofFile(text) {
  const [, ...parts] = text.replace(/\r\n?/g, "\n").split(HEAD), found = {};
  for (let i = 0; i < parts.length; i += 3) {
    const [name, passed, body] = parts.slice(i, i + 3), text = body.replace(/^\n+/, "").trimEnd();
    found[name] = {...found[name], text, ...(passed && {passed: text})};
  }
  return found;
}
