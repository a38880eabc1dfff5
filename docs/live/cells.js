// The cells of a chapter's page: one that runs, and one that is judged.
import {element, paragraph, printed} from "./door.js";
import {Kept} from "./keep.js";
import {makeEditor} from "./editor.js";

class Cell {
  // place: the element of the page; chapter: what all cells share (chapter.js); number: of the cell, from 1
  constructor(place, chapter, number, frame, label, act) {
    [this.place, this.chapter, this.number, this.label] = [place, chapter, number, label];
    this.given = place.querySelector("pre").textContent.trimEnd();
    frame.replaceChildren();
    frame.className = "live-cell";
    const press = {key: "Mod-Enter", run: () => { chapter.turn.take(() => this[act]()); return true; }};
    const changed = () => this.changed?.();
    this.editor = makeEditor(frame, this.given, {label, described: "live-keys", keys: [press], changed});
    this.tools = frame.parentElement.insertBefore(element("div", {className: "live-tools"}), frame.nextSibling);
  }

  button(text, work) {
    const ariaLabel = `${text}: ${this.label}`;    // there are many that say "Run"
    const made = element("button", {type: "button", textContent: text, ariaLabel, onclick: () => this.chapter.turn.take(work)});
    this.tools.append(made);
    return made;
  }

  // What Python says; nothing if it is gone, which the page then says.
  async ask(name, given, seconds) {
    try {
      const seen = await this.chapter.engine.ask(name, given, seconds);
      this.editor.mark(seen.line ?? 0);
      return seen;
    } catch (error) {
      this.show([paragraph(error.message)]);
      this.chapter.lost(error);
      return null;
    }
  }

  stopped(seen, seconds) {
    return seen.stopped ? [paragraph(this.chapter.sentences[seen.reason].replace("{n}", seconds))] : [];
  }
}

export class CodeCell extends Cell {
  constructor(place, chapter, number) {
    const {sentences} = chapter;
    super(place, chapter, number, place.querySelector(".cell_input"), sentences.cell.replace("{n}", number), "run");
    this.output = place.querySelector(".cell_output") ?? place.appendChild(element("div", {className: "cell_output"}));
    this.button(sentences.run, () => this.run());
    this.button(sentences.upTo, () => chapter.run(this));
    this.ran = null;    // the text that this Python ran without an error
    if (chapter.minutes[number]) {
      this.tools.append(element("span", {className: "live-cost", textContent: sentences.cost.replace("{n}", chapter.minutes[number])}));
    }
  }

  get unsaved() { return this.editor.text() !== this.given; }

  get done() { return this.ran === this.editor.text(); }

  show(parts) { this.output.replaceChildren(...parts); }

  // Whether it ran without an error.
  async run() {
    const {sentences, settings} = this.chapter, text = this.editor.text();
    const seconds = text === this.given ? settings.patience : settings.seconds;    // what the book gives ends
    this.show([paragraph(sentences.working)]);
    const seen = await this.ask("run", [String(this.number), text], seconds);
    if (!seen) return false;
    const pictures = seen.pictures.map(one => element("img", {src: `data:image/png;base64,${one}`, alt: sentences.picture}));
    this.show([...this.stopped(seen, seconds), ...printed(seen.printed), ...pictures]);
    this.ran = seen.line ? null : text;
    return !seen.line;
  }
}

export class ExerciseCell extends Cell {
  constructor(place, chapter, number) {
    const {sentences} = chapter, {name} = place.dataset;
    super(place, chapter, number, place.querySelector("div[class*=highlight]"), sentences.exercise.replace("{n}", name), "judge");
    this.name = name;
    place.querySelector(":scope > p").remove();    // how to do it elsewhere
    this.verdict = place.appendChild(element("div", {className: "live-verdict", role: "status"}));
    this.button(sentences.check, () => this.judge());
    this.button(sentences.hint, () => this.hint());
    this.solution = this.button(sentences.solution, () => this.solve());
    this.solution.hidden = true;
    this.show([paragraph(sentences.empty)]);
    this.hints = 0;
    this.kept = new Kept(this.name, this.given);
    this.notice = place.appendChild(element("p", {className: "live-kept", role: "status"}));
    if (this.kept.entry) this.begin(chapter.gone.includes(this.name));
  }

  get unsaved() { return this.kept.trouble !== ""; }

  // What was kept. gone: whether what passed does not pass any more
  begin(gone) {
    const {text, passed} = this.kept.entry;
    this.editor.write(text);
    if (gone) this.keep({fails: true});
    this.solution.hidden = gone || !passed;
    if (passed) this.show([paragraph(this.chapter.sentences[gone ? "gone" : text === passed ? "yours" : "newer"])]);
  }

  changed() { if (this.editor.text() !== this.kept.entry?.text) this.keep({text: this.editor.text()}); }

  keep(change) {
    this.kept.write(change);
    this.say(this.kept.trouble);
  }

  say(sentence) {
    const said = this.chapter.sentences[sentence] ?? "";
    if (this.notice.textContent !== said) this.notice.textContent = said;    // a reader of the screen says it once
  }

  // Another tab may have written: the newest text is shown, unless the one here is kept nowhere.
  look() {
    if (this.kept.trouble || !this.kept.stale) return;
    this.kept.read();
    this.editor.write(this.kept.entry?.text ?? this.given);
    this.show([paragraph(this.chapter.sentences.empty)]);
    delete this.place.dataset.verdict;
    this.say("newest");
  }

  show(parts) { this.verdict.replaceChildren(...parts); }

  async judge() {
    const {sentences, settings} = this.chapter, text = this.editor.text();
    this.show([paragraph(sentences.running)]);
    const seen = await this.ask("judge", [this.name, text]);
    if (!seen) return;
    if (seen.passed) this.keep({passed: text, fails: undefined});
    this.place.dataset.verdict = seen.passed ? "passed" : "failed";
    const lines = seen.said.filter(([label]) => label !== "NEXT");    // it names a command
    this.show([
      ...(seen.stopped ? this.stopped(seen, settings.seconds) : [paragraph(seen.title)]),
      ...lines.map(([label, text]) => paragraph(element("b", {textContent: label}), ` ${text}`)),
      ...(seen.passed ? [paragraph(sentences.uses)] : []),
      ...printed(seen.printed),
    ]);
    this.solution.hidden = !seen.passed;
  }

  async hint() {
    const seen = await this.ask("hint", [this.name, this.hints++]);
    if (seen) this.show([element("p", {className: "live-hint", textContent: seen.hint})]);
  }

  // The derivation below, which the page folds.
  solve() {
    const below = one => this.place.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING;
    const fold = [...document.querySelectorAll("details.derivation")].find(below);
    fold.open = true;
    fold.querySelector("summary").focus();
  }
}
