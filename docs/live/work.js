// What is the reader's own: beside each chapter in a list, on the map, and as a file to take along.
import {all, brought, passed, put, takeAlong} from "./keep.js";

export function show(work) {
  const settings = JSON.parse(work.dataset.work), {chapters, sentences} = settings;
  const find = name => work.querySelector(`.live-${name}`), say = text => { find("status").textContent = text; };
  const fill = (sentence, values) => sentence.replace(/{(\w+)}/g, (_, name) => values[name]);

  const draw = () => {
    const entries = all(), own = passed(entries), names = Object.values(chapters).flat();
    for (const [chapter, exercises] of Object.entries(chapters)) {
      const n = exercises.filter(name => name in own).length;
      for (const link of document.querySelectorAll(`:is(td, .toctree-wrapper) > :is(a, li a)[href*="${chapter}/chapter.html"]`)) {
        link.parentElement.querySelector(".live-count")?.remove();
        if (!n) continue;
        const said = fill(sentences.count, {n, all: exercises.length});
        const count = Object.assign(document.createElement("span"), {className: "live-count", title: said, role: "img", ariaLabel: said});
        count.textContent = n === exercises.length ? "✓" : `${n}/${exercises.length}`;
        link.after(" ", count);
      }
    }
    for (const box of document.querySelectorAll("[data-needs]")) {
      box.dataset.name ??= box.ariaLabel;
      const mine = box.dataset.needs.split(" ").every(name => name in own);
      box.classList.toggle("live-own", mine);
      box.ariaLabel = mine ? `${box.dataset.name} (${sentences.own})` : box.dataset.name;
    }
    const unknown = Object.keys(entries).filter(name => !names.includes(name)).join(", ");
    const said = [fill(sentences.summary, {n: Object.keys(own).length, all: names.length}), unknown && fill(sentences.unknown, {names: unknown})];
    if (find("status")) say(Object.keys(entries).length ? said.filter(Boolean).join(" ") : "");
    if (find("take")) find("take").hidden = !Object.keys(entries).length;
  };

  draw();
  for (const kind of ["storage", "pageshow"]) addEventListener(kind, draw);
  if (!find("take")) return;
  const file = work.querySelector("input");
  find("tools").hidden = false;
  find("take").onclick = () => takeAlong(all(), settings);
  find("bring").onclick = () => file.click();
  file.onchange = async () => {
    const [{name}] = file.files, found = Object.entries(brought(await file.files[0].text())), here = all();
    file.value = "";
    const other = found.filter(([name, one]) => here[name] && here[name].text !== one.text).map(([name]) => name);
    const replace = other.length && confirm(fill(sentences.replace, {names: other.join(", ")}));
    const wanted = found.filter(([name]) => replace || !other.includes(name)), kept = wanted.filter(([name, one]) => put(name, one));
    draw();
    say(fill(sentences[!found.length ? "notWork" : kept.length < wanted.length ? "noRoom" : "brought"], {name, n: kept.length}));
  };
}
