// "Check your own layer": an editor, the report beside it, and the verdict above the report.
import {Turn, enter, guard, open, paragraph} from "./door.js";
import {makeEditor} from "./editor.js";

export async function begin(page, base, status) {
  const {settings, sentences, engine} = await open(page, base, status, engine => engine.call("begin", [document.documentElement.lang]));
  const find = name => page.querySelector(`.live-${name}`);
  const [check, stop, code] = [find("check"), find("stop"), find("code")], turn = new Turn(stop, [check]);
  const press = {key: "Mod-Enter", run: () => { turn.take(judge); return true; }};
  const text = code.querySelector("pre").textContent.trimEnd();
  code.replaceChildren();
  const editor = makeEditor(code, text, {label: sentences.editor, described: "live-keys", keys: [press]});
  enter(page, editor);
  guard(() => ![text, ...Object.values(settings.examples)].includes(editor.text()));

  // As text: names and messages may hold HTML.
  const show = (kind, said, printed) => {
    page.dataset.verdict = kind;
    find("verdict").replaceChildren(...said.map(sentence => paragraph(sentence)));
    find("printed").textContent = printed;
  };

  const judge = async () => {
    editor.mark(0);
    show("running", [sentences.running], "");
    try {
      const seen = await engine.ask("check", [editor.text()]);
      const kind = seen.passed ? "passed" : seen.passed === false ? "failed" : "error";
      const unclear = seen.stopped ? seen.reason : seen.said.length ? "error" : "unchecked";
      const head = sentences[kind === "error" ? unclear : kind].replace("{n}", settings.seconds);
      const where = seen.line ? sentences.line.replace("{n}", seen.line) : "";
      show(kind, [`${head} ${where}`, ...(seen.stopped ? [] : seen.said)], seen.printed);
      editor.mark(seen.line);
      find("verdict").scrollIntoView({block: "nearest"});    // on a phone it is below the editor
    } catch (error) {    // Python is gone, what is in the editor stays, and a new one starts
      show("error", [error.message], "");
      engine.start().catch(() => {});
    }
  };

  check.onclick = () => turn.take(judge);
  stop.onclick = () => turn.busy && engine.stop();
  for (const button of page.querySelectorAll("[data-example]")) {
    button.onclick = () => { editor.write(settings.examples[button.dataset.example]); editor.mark(0); editor.focus(); };
  }
  await turn.take(judge);
}
