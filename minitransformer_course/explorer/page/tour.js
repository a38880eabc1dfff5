// The tour: eight steps from the text to the loss and back, each a sentence of the page about the reader's own text.

const REST = 9000, STEPS = [...document.querySelectorAll("#tour li")];    // milliseconds for a step
const tour = { step: -1, timer: null };

// What the sentences' words in brackets stand for, at the box of a step.
function facts(place) {
  const { numbers, batch } = state, p = probabilities(numbers.record.output.y), right = batch.next_target[0];
  const found = { text: find("source").value, count: idsOf(place.side || "encoder").length, right: tokenOf(right),
                  p: p.data[right].toPrecision(2), loss: short(numbers.loss), d: numbers.record.output.y.shape[1] };
  const largest = normsOf(numbers.parameters)[0][0];
  if (!isAttention(place)) return { ...found, largest };
  const { data, shape: [, queries, keys] } = numbers.record[`${place.path}.softmax`].y;
  const first = [...data.keys()].filter(i => Math.floor(i / keys) % queries === 0);    // of the first query, in all heads
  const at = first.reduce((a, b) => data[b] > data[a] ? b : a);
  return { ...found, query: tokenOf(idsOf("@")[0]), key: tokenOf(idsOf("@key")[at % keys]), share: data[at].toPrecision(2),
           head: Math.floor(at / queries / keys), norm: short(norm(numbers.record[place.path].dy)) };
}

function tellStep() {
  if (tour.step < 0) return;
  const known = facts(resolved(places[state.open]));
  find("told").textContent = STEPS[tour.step].textContent.replace(/\[(\w+)\]/g, (_, name) => known[name] ?? name);
  find("which").textContent = _`${tour.step + 1} of ${STEPS.length}`;
}

// Shows a step, or ends the tour with -1. moving: the next one follows by itself.
function goStep(step, moving = false) {
  clearTimeout(tour.timer);
  tour.step = step < STEPS.length ? step : -1;
  find("tour").hidden = tour.step < 0;
  if (tour.step < 0) return;
  const { kind, shown } = STEPS[step].dataset, kinds = kind.split(" ");
  find(shown || "values").checked = true;
  openBox(kinds.map(one => places.findIndex(place => place && place.kind === one)).find(i => i >= 0));
  tellStep();
  if (moving) tour.timer = setTimeout(() => goStep(step + 1, step + 2 < STEPS.length), REST);
}

// Offers the tour, and begins it for who comes for the first time or by an address that asks for it.
function offerTour() {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches, [back, next, end] = find("tour").querySelectorAll("button");
  back.onclick = () => goStep(Math.max(0, tour.step - 1));
  next.onclick = () => goStep(tour.step + 1);
  end.onclick = () => goStep(-1);
  find("begin").onclick = () => goStep(0, !still);
  addEventListener("pointerdown", () => clearTimeout(tour.timer));    // a reader who does something is not interrupted
  addEventListener("keydown", event => {
    clearTimeout(tour.timer);
    if (tour.step < 0 || event.target.closest("input, select, canvas")) return;
    ({ ArrowLeft: back, ArrowRight: next, Escape: end })[event.key]?.click();
  });
  let known = true;
  try {
    known = localStorage.getItem("minitransformer: tour");
    localStorage.setItem("minitransformer: tour", "seen");
  } catch { /* a page without storage: no tour by itself */ }
  if (location.hash === "#tour" || !known && !location.hash) goStep(0, !still);
}
