// A page that asks Python for a training run part by part, and stops or tries it in between.
import {Turn, element, enter, guard, open, paragraph} from "./door.js";
import {passed} from "./keep.js";

export async function begin(page, base, status) {
  const {settings, sentences, engine} = await open(page, base, status, engine => engine.call("begin", [document.documentElement.lang]));
  const find = name => page.querySelector(`.live-${name}`);
  const [train, on, answer] = ["check", "on", "answer"].map(find), turn = new Turn(find("stop"), [train]);
  let going = false, unsaved = false, waiting = null;

  const say = (kind, said) => {
    page.dataset.verdict = kind;
    find("verdict").replaceChildren(...[said].flat().map(one => paragraph(one)));
    going &&= kind === "running";
    on.ariaDisabled = String(kind !== "stopped");
  };
  const ask = async (name, given, wrong = said => say("error", said)) => {
    const seen = await engine.ask(name, given, settings.patience).catch(error => {
      engine.start().catch(() => {});    // Python is gone, and with it the run
      return {error: error.message};
    });
    return seen.error ? wrong(seen.error) : seen;
  };

  const follow = async (said = sentences.working) => {
    going = true;
    say("running", said);
    while (going) {
      const seen = await ask("advance", []);
      if (!seen) return;
      unsaved = true;
      find("step").textContent = seen.step;
      find("curve").innerHTML = seen.curve;
      if (seen.said) say("passed", seen.said);
      else if (!going) say("stopped", sentences.paused);
      await waiting?.();
      waiting = null;
    }
  };
  const start = async () => {
    say("running", sentences.working);
    const seen = await ask("start", find("task") ? [find("task").value, find("text").value] : [passed()]);
    if (seen) await follow(seen.said);
  };
  const use = name => async () => {
    const seen = await ask(name, [find("given").value], said => { answer.textContent = said; });
    if (!seen) return;
    const href = seen.file && URL.createObjectURL(new Blob([seen.file], {type: seen.type}));
    answer.textContent = seen.answer ?? "";
    if (seen.name) {
      element("a", {href, download: seen.name}).click();
      unsaved = false;
    } else if (href) {
      answer.append(element("a", {href, target: "_blank", textContent: seen.link}));
      answer.firstChild.focus();
    }
  };

  train.onclick = () => turn.take(start);
  on.onclick = () => on.ariaDisabled === "false" && turn.take(follow);
  find("stop").onclick = () => { going = false; };
  page.addEventListener("submit", event => {
    event.preventDefault();
    const work = use(event.submitter.value);
    if (turn.busy) waiting = work; else turn.take(work);
  });
  guard(() => unsaved);
  enter(page, train);
}
