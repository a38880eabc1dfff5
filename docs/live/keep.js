// The reader's work, kept in this browser: what was written last for each exercise, and what passed last. An entry is
// {text, passed}; it `fails` if what passed does not pass any more, with this version of the site.
const PLACE = "minitransformer/";
const HEAD = /^# ---- (\w+)(?: \(\w+\))?(, passed)? ----$/m;    // of a part of the file that one takes along

const attempt = work => { try { return work(); } catch { return undefined; } };    // storage may be forbidden
const raw = name => attempt(() => localStorage.getItem(PLACE + name)) ?? null;
const store = (name, text) => attempt(() => {
  if (text) localStorage.setItem(PLACE + name, text);
  else localStorage.removeItem(PLACE + name);
  return true;
});

function entry(text) {
  const found = attempt(() => JSON.parse(text));
  if (typeof found?.text === "string") return found;
  return text ? {text} : null;    // of another version, perhaps: it is shown as it is
}

// {name of an exercise: entry}
export function all() {
  const names = attempt(() => Object.keys(localStorage)) ?? [];
  const ours = names.filter(key => key.startsWith(PLACE)).map(key => key.slice(PLACE.length));
  return Object.fromEntries(ours.map(name => [name, entry(raw(name))]).filter(([, one]) => one));
}

// {name: text} of all functions that passed, on whichever page. A page proves them again before it uses them.
export function passed(entries = all()) {
  const found = Object.entries(entries).filter(([, one]) => one.passed && !one.fails);
  return Object.fromEntries(found.map(([name, one]) => [name, one.passed]));
}

// What is kept of one exercise, as this tab sees it. given: what everybody begins with, which is not kept
export class Kept {
  constructor(name, given) { [this.name, this.given] = [name, given]; this.read(); }

  get stale() { return raw(this.name) !== this.seen; }

  // The entry that is there now, whichever tab wrote it; null if there is none.
  read() {
    [this.seen, this.trouble] = [raw(this.name), ""];
    this.entry = entry(this.seen);
    return this.entry;
  }

  // Keep what changed, or say in `trouble` why it is not kept: "other", if another tab wrote in the meantime, or "full".
  write(change) {
    this.entry = {...this.entry, ...change};
    const {text, passed} = this.entry, next = text === this.given && !passed ? null : JSON.stringify(this.entry);
    this.trouble = this.stale ? "other" : store(this.name, next) ? "" : "full";
    if (!this.trouble) this.seen = next;
    return this.trouble;
  }
}

// A file that a person can read, and that `learn start --from` takes up. chapters: {chapter: [names of exercises]}
export function takeAlong(entries, {chapters, sentences}) {
  const homes = Object.fromEntries(Object.entries(chapters).flatMap(([chapter, names]) => names.map(name => [name, ` (${chapter})`])));
  const part = (name, text, how) =>
    text ? `\n\n# ---- ${name}${homes[name] ?? ""}${how} ----\n\n${text.replace(/^# ----/gm, "#  ----").trimEnd()}\n` : "";
  const parts = Object.keys({...homes, ...entries}).filter(name => entries[name]).map(name => {
    const {text, passed} = entries[name];
    return part(name, passed, ", passed") + part(name, text !== passed && text, "");
  });
  const text = `"""${sentences.file}"""\n\nimport math\n\nimport numpy as np\n${parts.join("")}`;
  const href = URL.createObjectURL(new Blob([text], {type: "text/x-python"}));
  Object.assign(document.createElement("a"), {href, download: "my_work.py"}).click();
}

// The entries of such a file.
export function brought(text) {
  const [, ...parts] = text.replace(/\r\n?/g, "\n").split(HEAD), found = {};
  for (let i = 0; i < parts.length; i += 3) {
    const [name, passed, body] = parts.slice(i, i + 3), text = body.replace(/^\n+/, "").trimEnd();
    found[name] = {...found[name], text, ...(passed && {passed: text})};
  }
  return found;
}

export const put = (name, one) => store(name, JSON.stringify(one));
