// What is the reader's own: beside each chapter in a list, on the map, and as a file to take along.
import {all, asFile, ofFile, passed, put} from "./keep.js";

const fill = (sentence, values) => sentence.replace(/{(\w+)}/g, (_, name) => values[name]);

export function show(work) {
  const {chapters, sentences} = JSON.parse(work.dataset.work), names = Object.values(chapters).flat();
  const find = name => work.querySelector(`.live-${name}`), say = text => { find("status").textContent = text; };

  const draw = () => {
    const entries = all(), own = passed(entries), n = Object.keys(own).length;
    for (const link of document.querySelectorAll("article :is(td, li) a[href$='/chapter.html']")) {
      const exercises = chapters[link.href.split("/").at(-2)] ?? [], n = exercises.filter(name => name in own).length;
      const said = fill(sentences.count, {n, all: exercises.length});
      const count = Object.assign(document.createElement("span"), {className: "live-count", title: said, role: "img", ariaLabel: said});
      count.textContent = n === exercises.length ? " ✓" : ` ${n}/${exercises.length}`;
      link.parentElement.querySelector(".live-count")?.remove();
      if (n) link.after(count);
    }
    for (const box of document.querySelectorAll("[data-needs]")) {
      const mine = box.dataset.needs.split(" ").every(name => name in own);
      box.classList.toggle("live-yours", mine);
      box.ariaDescription = mine ? sentences.own : null;
    }
    if (!find("take")) return;
    const begun = Object.keys(entries), unknown = begun.filter(name => !names.includes(name));
    work.classList.toggle("live-begun", begun.length > 0);
    say((begun.length ? fill(sentences.summary, {n, all: names.length}) : "") +
        (unknown.length ? ` ${fill(sentences.unknown, {names: unknown.join(", ")})}` : ""));
  };

  draw();
  for (const kind of ["storage", "pageshow"]) addEventListener(kind, draw);
  if (!find("take")) return;
  const file = work.querySelector("input");
  find("tools").hidden = false;
  find("take").onclick = () => {
    const href = URL.createObjectURL(new Blob([asFile(all(), chapters, sentences.file)], {type: "text/x-python"}));
    Object.assign(document.createElement("a"), {href, download: "my_work.py"}).click();
  };
  find("bring").onclick = () => file.click();
  file.onchange = async () => {
    const [one] = file.files, found = Object.entries(ofFile(await one.text())), here = all();
    file.value = "";
    const other = found.filter(([name, {text}]) => here[name] && here[name].text !== text).map(([name]) => name);
    const replace = other.length && confirm(fill(sentences.replace, {names: other.join(", ")}));
    const wanted = found.filter(([name]) => replace || !other.includes(name)), kept = wanted.filter(one => put(...one));
    draw();
    say(fill(sentences[!found.length ? "notWork" : kept.length < wanted.length ? "noRoom" : "brought"], {name: one.name, names: kept.map(([name]) => name).join(", ")}));
  };
}
