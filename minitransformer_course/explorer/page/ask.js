// Another text: its tokens, what the model writes, and what to say if it cannot be read.

function say(text) {
  find("said").textContent = text;
}

// Reads the fields. A token that cannot be encoded is named, and the last numbers stay.
function ask(event, writing = false) {
  if (event) event.preventDefault();
  const both = DATA.kind === "Transformer", { sizes, limit } = DATA, fewest = both ? 1 : 2;
  const padding = Array(Math.max(0, Math.min(5, Math.round(find("padding").value) || 0))).fill(PAD);
  const text = encode(find("source").value, sizes[0], limit);
  if (text.problem) return say(text.problem);
  if (text.ids.length < fewest) return say(_`The text is too short, expected ${fewest} to ${limit} tokens.`);
  if (both) {
    const source = [...text.ids, EOS];
    const target = writing ? { ids: write(source, limit) } : encode(find("target").value, sizes[1], limit);
    if (target.problem) return say(target.problem);
    if (writing) find("target").value = decode(target.ids);
    state.batch = { source: [...source, ...padding], target: [BOS, ...target.ids, ...padding],
                    next_target: [...target.ids, EOS, ...padding] };
  } else {
    state.batch = { ids: [...text.ids.slice(0, -1), ...padding], next_target: [...text.ids.slice(1), ...padding] };
  }
  say("");
  compute();
}

// What the model writes, each time the likeliest token but padding and BOS; at most 50 tokens more than its source.
function write(source, limit) {
  const ids = [];
  while (ids.length < Math.min(limit, source.length - 1 + 50)) {
    const [y] = state.model.hidden({ source, target: [BOS, ...ids] });
    const logits = rows(state.model.output.forward(y)[0]).at(-1), next = logits.indexOf(Math.max(...logits.slice(EOS)), EOS);
    if (next === EOS) break;
    ids.push(next);
  }
  return ids;
}

const STEP = 1e-4;

// In words: the slope of the loss at one number, beside its gradient (null: covered).
function nudge(path, index, gradient) {
  const loss = step => lossNudged(state.model, state.batch, DATA.smoothing, path, index, step);
  const above = loss(STEP), below = loss(-STEP), slope = (above - below) / (2 * STEP), distance = Math.abs(slope - gradient);
  const agrees = distance <= 1e-6 * Math.max(1e-3, Math.abs(slope));
  return _`Larger by ${STEP}, the loss is ${above.toPrecision(12)}; smaller by as much, ${below.toPrecision(12)}.` + " " +
    _`The slope between them is ${exact(slope)}.` + " " + (gradient === null ? "" : _`The backward says ${exact(gradient)}:` + " " +
      (agrees ? _`✓ they differ by ${distance.toExponential(1)}.` : _`✗ that is not the slope.`));
}
