"use strict";
// Filters of the table of claims. Their state is the URL's hash, e.g. #paper=ter&verdict=partly&words=sokoban; a hash
// without "=" is an ordinary anchor. Without this script all rows are there and the filters are not.
(() => {
  const byId = (id) => document.getElementById(id);
  const names = ["paper", "verdict", "kind", "words"];
  const fields = Object.fromEntries(names.map((name) => [name, byId(`filter-${name}`)]));
  const sections = [...document.querySelectorAll("section.paper")];
  const rows = [...document.querySelectorAll("table.claims tbody tr")].map((row) => ({
    row, ...row.dataset, text: row.textContent.toLowerCase(),
  }));

  function show() {
    const chosen = ["paper", "verdict", "kind"].filter((name) => fields[name].value);
    const words = fields.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const papers = new Set();
    let shown = 0;
    for (const claim of rows) {
      const fits = chosen.every((name) => claim[name] === fields[name].value)
        && words.every((word) => claim.text.includes(word));
      claim.row.hidden = !fits;
      if (fits) {
        shown += 1;
        papers.add(claim.paper);
      }
    }
    const all = !chosen.length && !words.length;
    for (const section of sections) section.hidden = !all && !papers.has(section.dataset.paper);
    byId("shown").textContent = `${shown} of ${rows.length} claims are shown.`;
  }

  function write() {
    const set = Object.entries(fields).map(([name, field]) => [name, field.value]).filter(([, value]) => value.trim());
    const hash = new URLSearchParams(set).toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    show();
  }

  function clear() {
    for (const field of Object.values(fields)) field.value = "";
  }

  function read() {
    const hash = location.hash.slice(1);
    const anchor = hash && !hash.includes("=") ? byId(decodeURIComponent(hash)) : null;
    if (!anchor) {
      const state = new URLSearchParams(hash);
      for (const [name, field] of Object.entries(fields)) {
        field.value = state.get(name) ?? "";
        if (field.selectedIndex === -1) field.value = "";  // a value that is no option
      }
    }
    show();
    if (anchor && anchor.closest("[hidden]")) {  // what one asks for is shown
      clear();
      show();
    }
    if (anchor) anchor.scrollIntoView();
  }

  fields.paper.addEventListener("change", write);
  fields.verdict.addEventListener("change", write);
  fields.words.addEventListener("input", write);
  byId("filter-clear").addEventListener("click", () => { clear(); write(); });
  window.addEventListener("hashchange", () => {
    read();
    if (location.hash.includes("=")) byId("claims").scrollIntoView();  // a link of the summary
  });
  byId("filters").hidden = false;
  read();
})();
