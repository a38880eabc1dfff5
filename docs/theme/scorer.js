/* What a page is about, its title and headings, counts more than where a word occurs; the book counts more than the rest, and
   its third part, which comes back to what the others explain, less than they. */
var Scorer = {
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 5, 1: 0, 2: -5}, objPrioDefault: 0,
  title: 60, partialTitle: 30, term: 5, partialTerm: 2,
  score: ([page, , , , score]) => score + (/^tutorials.1[4-7]/.test(page) ? 3 : /^tutorials.*chapter$/.test(page) ? 6.5
    : /^(docs|README)/.test(page) ? 6 : 0),
};
