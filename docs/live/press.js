// The one press: nothing is loaded before it. A classic script, since a page from the disk may load no modules, and says so.
(() => {
  const base = new URL(".", document.currentScript.src).href;
  const work = location.protocol !== "file:" && document.querySelector(".live-work");
  if (work) import(`${base}work.js`).then(({show}) => show(work));
  for (const page of document.querySelectorAll(".live")) {
    const button = page.querySelector(".live-press"), status = page.querySelector(".live-status");
    const {disk, webassembly, missing} = page.dataset;
    button.hidden = false;
    button.onclick = async () => {
      if (location.protocol === "file:") status.textContent = disk;
      else if (typeof WebAssembly !== "object") status.textContent = webassembly;
      else if (button.ariaDisabled !== "true") {
        button.ariaDisabled = "true";    // and not disabled: it keeps the focus
        try {
          await (await import(`${base}${page.dataset.script}.js`)).begin(page, base, status);
        } catch (error) {
          if (error.name !== "Failed") console.error(error);    // the sentence names only the usual cause
          status.textContent = error.name === "Failed" ? error.message : missing;
          button.ariaDisabled = "false";
        }
      }
    };
  }
})();
