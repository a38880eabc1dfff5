// "Check your own layer": an editor, the report beside it, and the verdict above the report.
import {Engine} from "./engine.js";

export async function begin(page, base, status) {
  const settings = await (await fetch(base + "settings.json")).json();
  const {makeEditor} = await import("./editor.js");
  const {sentences, examples} = settings, find = name => page.querySelector(`.live-${name}`);
  const engine = new Engine(settings, base), bar = find("progress");
  status.textContent = sentences.loading;
  bar.hidden = false;
  try {
    await engine.start(part => { bar.value = part; });
  } finally {
    bar.hidden = true;
  }
  status.textContent = sentences.started;

  const [check, stop, code] = [find("check"), find("stop"), find("code")];
  const press = {key: "Mod-Enter", run: () => { judge(); return true; }};
  const text = code.querySelector("pre").textContent.trimEnd();
  code.replaceChildren();
  const editor = makeEditor(code, text, {label: sentences.editor, described: find("keys").id, keys: [press]});
  if (page.contains(document.activeElement) || document.activeElement === document.body) editor.focus();
  [find("press").hidden, find("tools").hidden] = [true, false];

  // As text: names and messages may hold HTML.
  const show = (kind, said, printed) => {
    page.dataset.verdict = kind;
    find("verdict").replaceChildren(...said.map(sentence => Object.assign(document.createElement("p"), {textContent: sentence})));
    find("printed").textContent = printed;
  };

  let running = false;    // and not a disabled button, which would lose the focus
  const judge = async () => {
    if (running) return;
    [running, check.ariaDisabled, stop.ariaDisabled] = [true, "true", "false"];
    editor.mark(0);
    show("running", [sentences.running], "");
    try {
      const seen = await engine.ask("check", editor.text());
      const kind = seen.passed ? "passed" : seen.passed === false ? "failed" : "error";
      const unclear = seen.stopped ? seen.reason : seen.said.length ? "error" : "unchecked";
      const head = sentences[kind === "error" ? unclear : kind];
      const where = seen.line ? sentences.line.replace("{n}", seen.line) : "";
      show(kind, [`${head} ${where}`, ...(seen.stopped ? [] : seen.said)], seen.printed);
      editor.mark(seen.line);
      find("verdict").scrollIntoView({block: "nearest"});    // on a phone it is below the editor
    } catch (error) {    // Python is gone, what is in the editor stays, and a new one starts
      show("error", [error.message], "");
      engine.start().catch(() => {});
    }
    [running, check.ariaDisabled, stop.ariaDisabled] = [false, "false", "true"];
  };

  check.onclick = () => judge();
  stop.onclick = () => running && engine.stop();
  for (const button of page.querySelectorAll("[data-example]")) {
    button.onclick = () => { editor.write(examples[button.dataset.example]); editor.mark(0); editor.focus(); };
  }
  await judge();
}
