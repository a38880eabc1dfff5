// Python in a worker. It is made from a blob, so that the page's policy binds it, and it loads nothing: its files are handed in.
"use strict";

const PATIENCE = 1000;    // milliseconds until code that catches an interrupt is interrupted again
const HEAP = 2 ** 30;    // bytes; what Python took it never gives back, so a run may always have what there is
const VISIBLE = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Object", "Array", "Uint8Array"];

let python, answers;    // the engine, and the functions of Python that the page may call
let deadline = Infinity, room = Infinity, reason = "";

const heap = () => python._module.HEAP8.length;

// Python reads element 0 every few instructions; 2 interrupts it at its line. What it writes is ignored.
const interrupts = {
  get 0() {
    const late = performance.now() > deadline;
    if (!late && heap() <= room) return 0;
    reason = late ? "time" : "memory";
    deadline = performance.now() + PATIENCE;
    room = Math.max(room, heap());
    return 2;
  },
  set 0(_) {},
};

async function start({files, lock, wheel, module}) {
  const script = name => importScripts(URL.createObjectURL(new Blob([files[name]], {type: "text/javascript"})));
  const kinds = {wasm: "application/wasm", json: "application/json"};
  files["pyodide-lock.json"] = JSON.stringify(lock);
  self.fetch = async address => {
    const name = new URL(address, "https://files/").pathname.split("/").at(-1);
    return name in files
      ? new Response(files[name], {headers: {"Content-Type": kinds[name.split(".").at(-1)] ?? "application/octet-stream"}})
      : Response.error();
  };
  script("pyodide.asm.js");
  script("pyodide.js");
  python = await loadPyodide({
    indexURL: "https://files/",
    jsglobals: Object.fromEntries(VISIBLE.map(name => [name, self[name]])),    // no fetch, no storage
    stdin: () => null, stdout: () => {}, stderr: () => {},
    env: {MPLBACKEND: "agg", MINITRANSFORMER_FAST: "0"},    // no kernels: there is no Numba, and nothing to install
  });
  await python.loadPackage(Object.keys(lock.packages).filter(name => lock.packages[name].file_name in files));
  python.unpackArchive(files[wheel], "wheel");
  answers = python.pyimport(module);
  python.setInterruptBuffer(interrupts);
}

function ask({name, given, seconds}) {
  [reason, room, deadline] = ["", Math.max(HEAP, heap()), performance.now() + 1000 * seconds];
  try {
    const answer = answers[name](...given.map(one => python.toPy(one)));
    return {...answer?.toJs({dict_converter: Object.fromEntries}), reason};
  } finally {
    deadline = room = Infinity;
  }
}

self.onmessage = async ({data}) => {
  try {
    postMessage({answer: data.files ? await start(data) : ask(data)});
  } catch (error) {
    postMessage({error: String(error.message ?? error)});
  }
};
