/* What the wiki's pages can do beside being read. Everything works without it: it only sorts and filters. */
"use strict";
(() => {
  const folded = text => text.normalize("NFKC").toLowerCase();

  /* A field that filters the rows of every list of the page, and headings that sort them. */
  function makeLists() {
    const tables = [...document.querySelectorAll("table[data-kb-list]")];
    if (!tables.length || document.querySelector(".kb-filter")) return;
    const rows = tables.flatMap(table => [...table.tBodies[0].rows]);
    const words = new Map(rows.map(row => [row, folded(row.textContent)]));
    const chinese = document.documentElement.lang.startsWith("zh");
    const field = document.createElement("input");
    field.type = "search";
    field.className = "kb-filter";
    field.placeholder = chinese ? "筛选本页" : "Filter this page";
    field.setAttribute("aria-label", field.placeholder);
    field.addEventListener("input", () => {
      const wanted = folded(field.value).split(/\s+/).filter(Boolean);
      for (const row of rows) row.hidden = !wanted.every(word => words.get(row).includes(word));
    });
    document.querySelector(".md-content h1, h1").after(field);
    tables.forEach(sortable);
  }

  function sortable(table) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "kb-sort";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const text = row => row.cells[column].textContent;
        const order = (a, b) => text(a).localeCompare(text(b), undefined, { numeric: true }) * (up ? 1 : -1);
        table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
      });
    });
  }

  /* The map, where the page has one: its script and its data come only then. */
  const assets = new URL(".", document.currentScript.src);
  async function makeGraph() {
    const box = document.querySelector(".kb-graph");
    const link = box && box.querySelector(".kb-graph-data");
    if (!link) return;
    const data = link.href;
    await Promise.all([loaded(new URL("kb-graph.js", assets)), loaded(data)]);
    window.kbDrawGraph(box, window.kbGraph, new URL(".", data));
  }

  const loaded = url => new Promise((done, failed) => {
    const script = document.createElement("script");
    Object.assign(script, { src: url, onload: done, onerror: failed });
    document.head.append(script);
  });

  const start = () => { makeLists(); makeGraph(); };
  if (typeof document$ !== "undefined") document$.subscribe(start);
  else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
