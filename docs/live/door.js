// What every page does after the press: start Python, and say how far it is.
import {Engine} from "./engine.js";

export const element = (tag, properties, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};
export const paragraph = (...children) => element("p", {}, ...children);
// As text: what is printed may hold HTML.
export const printed = text => text ? [element("pre", {className: "live-printed", textContent: text})] : [];

export async function open(page, base, status, begin) {
  const settings = await (await fetch(base + "settings.json")).json();
  const engine = new Engine(settings, base, page.dataset.live, page.dataset.files.split(" "), begin), bar = page.querySelector(".live-progress");
  status.textContent = settings.sentences.loading;
  bar.hidden = false;
  try {
    await engine.start(part => { bar.value = part; });
  } finally {
    bar.hidden = true;
  }
  status.textContent = settings.sentences.started;
  return {settings, sentences: settings.sentences, engine};
}

// The tools take the place of the press, and `next` its focus if the reader is still there.
export function enter(page, next) {
  const here = page.contains(document.activeElement) || document.activeElement === document.body;
  page.querySelector(".live-tools").hidden = false;
  if (here) next.focus();
  page.querySelector(".live-press").hidden = true;
}

// The browser asks before what is in the page alone is gone. changed(): whether anything is
export function guard(changed) {
  addEventListener("beforeunload", event => { if (changed()) event.preventDefault(); });
}

// One thing at a time. Buttons that wait are not disabled, which would lose the focus.
export class Turn {
  constructor(stop, others = []) { [this.busy, this.stop, this.others] = [false, stop, others]; }

  async take(work) {
    if (this.busy) return;
    this.set(true);
    try { await work(); } finally { this.set(false); }
  }

  set(busy) {
    this.busy = busy;
    this.stop.ariaDisabled = String(!busy);
    for (const one of this.others) one.ariaDisabled = String(busy);
  }
}
