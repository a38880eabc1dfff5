// The engine of a page: its files, checked by their hashes, and the worker in which Python runs.
const BOOT = 60_000;    // milliseconds until Python must have started
const GRACE = 4_000;    // beyond the limit of a run, for code that returns to Python late

export class Failed extends Error {    // its message is a sentence for the reader
  name = "Failed";
}

export class Engine {
  // base: the address of these scripts; module: whose functions the page calls; needs: the kinds of files;
  // begin(engine): what each new Python is asked first
  constructor(settings, base, module, needs, begin = () => {}) {
    [this.settings, this.sentences, this.base] = [settings, settings.sentences, base];
    this.module = `minitransformer_course.live.${module}`;
    this.needed = Object.assign({}, ...needs.map(kind => settings.files[kind]));
    this.begin = begin;
  }

  // Download what is missing, and start Python, unless it runs. progress(the part of all bytes)
  start(progress = () => {}) {
    this.ready ??= this.boot(progress).catch(error => { this.ready = null; throw error; });
    return this.ready;
  }

  async boot(progress) {
    this.files ??= await this.download(progress);
    if (!this.script) {    // loaded once: a new Python must start without a network, too
      const source = await (await this.reached("worker.js", this.base + "worker.js")).blob();
      this.script = URL.createObjectURL(new Blob([source], {type: "text/javascript"}));
    }
    this.worker = new Worker(this.script);
    const {lock, wheel} = this.settings;
    await this.answer({files: this.files, lock, wheel: wheel.name, module: this.module}, BOOT, "boot");
    await this.begin(this);
  }

  // What the function of Python says; a call that never returns costs the worker.
  async ask(name, given, seconds = this.settings.seconds) {
    await this.start();
    return this.call(name, given, seconds);
  }

  call(name, given, seconds = this.settings.seconds) {
    return this.answer({name, given, seconds}, 1000 * seconds + GRACE, "lost");
  }

  stop(sentence = "stopped", why = "") {
    this.worker?.terminate();
    this.worker = this.ready = null;
    this.give?.(new Failed(this.sentences[sentence] + why));
  }

  // The worker's answer within `limit` milliseconds; `sentence` is said if there is none.
  answer(question, limit, sentence) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.stop(sentence), limit);
      const settle = (settled, value) => { clearTimeout(timer); this.give = null; settled(value); };
      this.give = error => settle(reject, error);
      const fail = why => this.stop(sentence === "boot" ? "boot" : "broken", ` (${why})`);
      this.worker.onmessage = ({data}) => data.error ? fail(data.error) : settle(resolve, data.answer);
      this.worker.onerror = event => fail(event.message);
      this.worker.postMessage(question);
    });
  }

  async download(progress) {
    if (!crypto.subtle) throw new Failed(this.sentences.insecure);
    const {address, wheel} = this.settings;
    const wanted = [...Object.entries(this.needed).map(([name, file]) => ({name, address: new URL(address, this.base) + name, ...file})),
                    {...wheel, address: this.base + wheel.name}];
    const all = wanted.reduce((sum, file) => sum + file.bytes, 0);
    let done = 0;
    const loaded = await Promise.all(wanted.map(file => this.load(file, bytes => progress((done += bytes) / all))));
    return Object.fromEntries(loaded);
  }

  async reached(name, address, signal) {
    const response = await fetch(address, {signal}).catch(() => null);
    if (!response?.ok) throw new Failed(this.sentences.missing.replace("{name}", name));
    return response;
  }

  // [name, bytes] of a file that arrived whole and is the one that is meant
  async load({name, address, sha384}, arrived) {
    const control = new AbortController(), parts = [];
    const patience = () => setTimeout(() => control.abort(), 1000 * this.settings.silence);
    let timer = patience();
    try {
      const response = await this.reached(name, `${address}?${encodeURIComponent(sha384.slice(0, 12))}`, control.signal);
      const reader = response.body.getReader();
      let left = response.headers.get("Content-Length");
      for (let part; !(part = await reader.read()).done;) {
        clearTimeout(timer);
        timer = patience();
        parts.push(part.value);
        left -= part.value.length;
        arrived(part.value.length);
      }
      if (left > 0) throw new Error();    // Firefox takes what was cut off for a whole file
    } catch (error) {
      throw error instanceof Failed ? error : new Failed(this.sentences.missing.replace("{name}", name));
    } finally {
      clearTimeout(timer);
    }
    const bytes = await new Blob(parts).arrayBuffer();
    const hash = btoa(String.fromCharCode(...new Uint8Array(await crypto.subtle.digest("SHA-384", bytes))));
    if (hash !== sha384) throw new Failed(this.sentences.wrong.replace("{name}", name));
    return [name, bytes];
  }
}
