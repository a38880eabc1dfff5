// A language model continues a text, one token at a time, each drawn as the run that made the page draws it.

const model = new LanguageModel(DATA.config, unpack(DATA.weights, "float32", DATA.shapes));
let writing = 0;    // the number of the last click: a new one ends what an older one writes

// The id of the token that follows `ids`; no special one.
function drawn(ids) {
  const [y] = model.hidden({ ids: ids.slice(-DATA.window) });
  const logits = [...rows(model.output.forward(y)[0]).at(-1)].map((a, id) => id > EOS ? a / DATA.temperature : -Infinity);
  const most = Math.max(...logits), p = logits.map(a => Math.exp(a - most));
  let left = Math.random() * p.reduce((a, b) => a + b);
  return p.findIndex((a, id) => id > EOS && (left -= a) <= 0);
}

// The ids of a text as the model read it, composed or in the letters of its syllables; undefined for one that it cannot read.
function known(text) {
  const forms = ["NFC", "NFD"].map(form => [...text.normalize(form)]);
  return forms.find(form => form.every(one => idOf.has(one)))?.map(one => idOf.get(one));
}

function writeOn(event) {
  event.preventDefault();
  find("written").parentElement.hidden = false;
  const ids = known(find("start").value), mine = ++writing;
  if (!ids?.length) { find("written").textContent = DATA.unknown; return; }
  (function step() {
    if (mine !== writing || ids.length > DATA.most) return;
    ids.push(drawn(ids));
    find("written").textContent = ids.map(id => DATA.vocabulary.tokens[id]).join("").normalize("NFC");
    setTimeout(step);
  })();
}

find("go").onsubmit = writeOn;
