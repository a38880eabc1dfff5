/* Below each result of a search, the beginning of its page. */
new MutationObserver(() => {
  for (const item of document.querySelectorAll("#search-results li:not(.with-excerpt)")) {
    const page = item.querySelector("a").getAttribute("href").replace(/^.*?(?=(docs|tutorials|README|CONTRIB|experiments|benchmarks))/, "");
    const excerpt = EXCERPTS[page.replace(/\.html.*/, "")];
    item.classList.add("with-excerpt");
    if (excerpt) item.append(Object.assign(document.createElement("p"), {textContent: excerpt}));
  }
}).observe(document.documentElement, {childList: true, subtree: true});
