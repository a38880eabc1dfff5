// A chapter's page: each cell can be edited and run, and each exercise is judged where it stands.
import {CodeCell, ExerciseCell} from "./cells.js";
import {Turn, enter, guard, open} from "./door.js";
import {passed} from "./keep.js";

export async function begin(page, base, status) {
  const places = [...document.querySelectorAll("div.cell, .live-exercise")];
  const exercises = places.map(place => place.dataset.name).filter(Boolean);
  let gone = [];    // the names of functions that do not pass any more
  const first = async engine => {
    await engine.call("begin", [document.documentElement.lang, exercises]);
    const before = passed();
    if (Object.keys(before).length) ({gone} = await engine.call("take_up", [before]));
  };
  const opened = await open(page, base, status, first);
  const {engine, sentences} = opened, [stop, all] = [page.querySelector(".live-stop"), page.querySelector(".live-all")];
  const turn = new Turn(stop, [all]);

  // The cells that were not run yet, the last one in any case; the first that fails is the last.
  const run = async last => {
    for (const cell of codes) {
      const ran = cell !== last && cell.done || await cell.run();
      if (!ran || cell === last) return;
    }
  };
  // Python is gone, and what the cells made; what is written stays. The reader chooses what runs again.
  const lost = error => {
    status.textContent = `${error.message} ${sentences.again}`;
    for (const cell of codes) cell.ran = null;
    engine.start().catch(() => {});
  };

  const minutes = JSON.parse(all.dataset.minutes);    // {number of a cell: minutes that it takes here}, of the long ones
  const chapter = {...opened, turn, run, lost, gone, minutes};
  const cells = places.map((place, i) => new (place.dataset.name ? ExerciseCell : CodeCell)(place, chapter, i + 1));
  const codes = cells.filter(cell => cell instanceof CodeCell);
  stop.onclick = () => turn.busy && engine.stop();
  all.onclick = () => turn.take(() => run(codes.at(-1)));
  guard(() => cells.some(cell => cell.unsaved));
  for (const kind of ["storage", "pageshow"]) addEventListener(kind, () => cells.forEach(cell => cell.look?.()));
  enter(page, all);
}
