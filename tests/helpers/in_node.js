// The worker of a page, docs/live/worker.js, run by node: each line of the input is a message to it, each line of the output its
// answer, with the seconds of processor time that it took. The first line is of {runtime, worker, wheel, module, files, lock}.
const fs = require("fs"), vm = require("vm"), path = require("path");
const {process} = globalThis, parts = new WeakMap();

delete globalThis.process;    // by which Pyodide tells node from a browser
globalThis.self = globalThis;
globalThis.Blob = class { constructor(given) { parts.set(this, given[0]); } };
URL.createObjectURL = blob => blob;
globalThis.importScripts = blob => vm.runInThisContext(new TextDecoder().decode(parts.get(blob)));
globalThis.location = {href: "https://files/worker.js", toString: () => "https://files/worker.js"};

let began;
globalThis.postMessage = answer => {
  const {user, system} = process.cpuUsage(began);
  fs.writeSync(1, JSON.stringify({...answer, seconds: (user + system) / 1e6}) + "\n");
};

const whole = address => { const {buffer, byteOffset, length} = fs.readFileSync(address); return buffer.slice(byteOffset, byteOffset + length); };

function message(line) {
  const data = JSON.parse(line);
  if (data.files) data.files = Object.fromEntries(data.files.map(name => [path.basename(name), whole(name)]));
  return data;
}

vm.runInThisContext(fs.readFileSync(process.argv[2], "utf8"));
require("readline").createInterface({input: process.stdin}).on("line", line => {
  began = process.cpuUsage();
  self.onmessage({data: message(line)});
});
