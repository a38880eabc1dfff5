// An editor for Python: CodeMirror, with a line that can be marked.
import {
  EditorState, EditorView, StateEffect, StateField, Decoration, HighlightStyle, keymap, lineNumbers, drawSelection,
  highlightSpecialChars, defaultKeymap, history, historyKeymap, indentWithTab, bracketMatching, indentOnInput, indentUnit,
  syntaxHighlighting, python, tags,
} from "./vendor/codemirror.js";

const setMark = StateEffect.define();    // the start of the line, or null
const mark = StateField.define({
  create: () => Decoration.none,
  update: (marks, change) => {
    for (const effect of change.effects) {
      if (effect.is(setMark)) {
        return effect.value === null ? Decoration.none : Decoration.set([Decoration.line({class: "live-mark"}).range(effect.value)]);
      }
    }
    return marks.map(change.changes);
  },
  provide: field => EditorView.decorations.from(field),
});

const colours = HighlightStyle.define([    // live.css has a value of each for light and for dark pages
  {tag: tags.keyword, color: "var(--live-keyword)"},
  {tag: [tags.string, tags.special(tags.string)], color: "var(--live-string)"},
  {tag: tags.comment, color: "var(--live-comment)"},
  {tag: [tags.number, tags.bool, tags.null], color: "var(--live-number)"},
  {tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)], color: "var(--live-name)"},
]);

export function makeEditor(parent, text, {label, described, keys, changed = () => {}}) {
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), highlightSpecialChars(), history(), drawSelection(), indentOnInput(), bracketMatching(), mark,
        python(), indentUnit.of("    "), syntaxHighlighting(colours), EditorView.lineWrapping,
        keymap.of([...keys, indentWithTab, ...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({"aria-label": label, "aria-describedby": described}),
        EditorView.updateListener.of(update => update.docChanged && changed()),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    write: text => view.dispatch({changes: {from: 0, to: view.state.doc.length, insert: text}}),
    focus: () => view.focus(),
    mark(number) {
      const line = number > 0 && number <= view.state.doc.lines ? view.state.doc.line(number) : null;
      const effects = [setMark.of(line && line.from)];
      if (line) effects.push(EditorView.scrollIntoView(line.from, {y: "nearest", yMargin: 40}));
      view.dispatch({effects});
    },
  };
}
