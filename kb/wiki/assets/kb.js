/* What the wiki's pages can do beside being read. Everything works without it: it filters, sorts, shows and turns. */
"use strict";
(() => {
  const assets = new URL(".", document.currentScript.src);
  const kb = window.kb = { assets, folded: text => text.normalize("NFKC").toLowerCase(), spoken: () => {} };

  kb.make = (tag, given = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), given);
    made.append(...children);
    return made;
  };

  /* Scripts that come only when a page needs them, and the data that such scripts hold. */
  const coming = new Map(), data = new Map();
  kb.load = url => {
    const name = String(url);
    if (!coming.has(name)) coming.set(name, new Promise((done, failed) => {
      document.head.append(kb.make("script", { src: name, onload: done, onerror: failed }));
    }));
    return coming.get(name);
  };
  window.kbData = (name, value) => data.set(name, value);
  kb.words = async () => {
    await kb.load(new URL("kb-words.js", assets));
    return data.get("words");
  };
  kb.data = async name => {
    await kb.load(new URL(`${name}.js`, kb.start));
    return data.get(name);
  };
  kb.top = () => new URL("..", kb.start);

  /* A status: its sign, which CSS draws, and its word. A title: its code is code. */
  kb.sign = (status, said) => kb.make("span", { className: `kb-sign kb-${status}`, textContent: said.split(" ")[0], title: said.split(" ").slice(1).join(" ") });
  kb.badge = (status, said) => {
    const [sign, ...words] = said.split(" ");
    const mark = kb.make("span", { className: "kb-sign", textContent: sign });
    return kb.make("span", { className: `kb-status kb-${status}` }, mark, ` ${words.join(" ")}`);
  };
  kb.title = (id, title) => {
    const made = document.createDocumentFragment();
    if (id) made.append(kb.make("span", { className: "kb-id", textContent: id }), " ");
    title.split(/(`+[^`]+`+)/).forEach((piece, n) => made.append(n % 2 ? kb.make("code", { textContent: piece.replace(/^`+ ?| ?`+$/g, "") }) : piece));
    return made;
  };

  const root = document.documentElement, own = root.lang.startsWith("zh") ? "zh" : "en";
  kb.colon = own === "zh" ? "：" : ": ";

  /* A field that filters the rows of the tables of a page, and headings that sort them. */
  function makeTables() {
    const tables = [...document.querySelectorAll("table[data-kb-list]")];
    if (!tables.length || document.querySelector(".kb-filter")) return;
    const rows = tables.flatMap(table => [...table.tBodies[0].rows]);
    const words = new Map(rows.map(row => [row, kb.folded(row.textContent)]));
    const field = kb.make("input", { type: "search", className: "kb-filter" });
    field.placeholder = own === "zh" ? "筛选本页" : "Filter this page";
    field.setAttribute("aria-label", field.placeholder);
    field.addEventListener("input", () => {
      const wanted = kb.folded(field.value).split(/\s+/).filter(Boolean);
      for (const row of rows) row.hidden = !wanted.every(word => words.get(row).includes(word));
    });
    document.querySelector(".md-content h1, h1").after(field);
    for (const table of tables) sortable(table, (column, up) => {
      const text = row => row.cells[column].textContent;
      const order = (a, b) => text(a).localeCompare(text(b), undefined, { numeric: true }) * (up ? 1 : -1);
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
    });
  }

  /* Make buttons of the headings of *table*; *sort* is told the column and whether upwards. */
  const sortable = (table, sort) => [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = kb.make("button", { type: "button", className: "kb-sort", textContent: head.textContent });
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      sort(column, up);
    });
  });

  /* A card for every link to a record: shown while the pointer or the keyboard is on the link or on the card. */
  const card = kb.make("div", { className: "kb-card", id: "kb-card", hidden: true });
  card.setAttribute("role", "tooltip");
  let owner = null, timer = 0;
  const nameOf = link => {
    const top = kb.top().href, href = new URL(link.getAttribute("href"), location).href.replace(/[?#].*/, "");
    return href.startsWith(`${top}anchors/`) ? decodeURIComponent(href.slice(top.length)) : "";
  };
  const pieceOf = (name, pieces) => {
    let number = 0;
    for (const sign of name) number = (number * 31 + sign.codePointAt(0)) % 65521;
    return number % pieces;
  };

  async function show(link) {
    const name = nameOf(link), lists = await kb.data("lists");
    const told = (await kb.data(`cards-${pieceOf(name, lists.cards)}`))[name];
    if (!told || owner !== link) return;
    const [id, title, kind, scope, status, date, said, over] = told;
    const facts = [lists.kind[kind] || kind, lists.scope[scope] || scope, date].filter(Boolean).join(" · ");
    card.replaceChildren(
      kb.make("p", {}, kb.badge(lists.status[status] ? status : "unknown", lists.status[status] || status), ` ${facts}`),
      kb.make("p", {}, kb.make("strong", {}, kb.title(id, title))),
      ...(over ? [kb.make("p", { className: "kb-card-over" }, kb.title("", over))] : []),
      ...(said ? [kb.make("p", { className: "kb-said", textContent: said })] : []));
    card.hidden = false;
    kb.spoken(card);
    const box = link.getBoundingClientRect(), own = card.getBoundingClientRect();
    const left = Math.max(8, Math.min(box.left, document.documentElement.clientWidth - own.width - 8));
    const below = box.bottom + own.height + 8 < window.innerHeight || box.top < own.height + 8;
    card.style.left = `${left + window.scrollX}px`;
    card.style.top = `${(below ? box.bottom + 2 : box.top - own.height - 2) + window.scrollY}px`;
    link.setAttribute("aria-describedby", card.id);
    if (link.title) { link.dataset.kbTitle = link.title; link.removeAttribute("title"); }
  }

  function hide() {
    clearTimeout(timer);
    card.hidden = true;
    if (!owner) return;
    owner.removeAttribute("aria-describedby");
    if (owner.dataset.kbTitle) owner.title = owner.dataset.kbTitle;
    owner = null;
  }

  function soon(what, wait) {
    clearTimeout(timer);
    timer = setTimeout(what, wait);
  }

  function listenForCards() {
    const reached = event => {
      if (card.contains(event.target)) { clearTimeout(timer); return; }
      const link = event.target.closest && event.target.closest("a[href]");
      if (!link || !link.closest(":has(> [data-kb])") || !nameOf(link)) { if (owner) soon(hide, 250); return; }
      if (link === owner) { clearTimeout(timer); return; }
      hide();
      owner = link;
      soon(() => show(link), event.type === "focusin" ? 0 : 200);
    };
    document.addEventListener("pointerover", event => event.pointerType !== "touch" && reached(event));
    document.addEventListener("focusin", reached);
    document.addEventListener("keydown", event => event.key === "Escape" && hide());
  }

  /* The map, where the page has one. */
  async function makeGraph() {
    const box = document.querySelector(".kb-graph");
    const link = box && box.querySelector(".kb-graph-data");
    if (!link) return;
    const from = link.href;
    await Promise.all([kb.load(new URL("kb-graph.js", assets)), kb.load(from)]);
    window.kbDrawGraph(box, window.kbGraph, new URL(".", from));
    kb.spoken(box);
  }

  async function makeLists() {
    const place = document.querySelector(".kb-explore, .kb-governs");
    if (!place || place.querySelector(".kb-bar")) return;
    await kb.load(new URL("kb-lists.js", assets));
    await window.kbExplore(place);
  }

  /* Buttons that put a text on the clipboard. */
  function makeCopies(within) {
    for (const place of within.querySelectorAll(".kb-copy")) {
      const button = place.querySelector("button");
      button.hidden = !navigator.clipboard;
      button.onclick = async () => {
        await navigator.clipboard.writeText(place.querySelector("pre, code").textContent);
        button.classList.add("kb-done");
        setTimeout(() => button.classList.remove("kb-done"), 2000);
      };
    }
  }

  /* How much waits behind the entries of the navigation. */
  async function makeBadges() {
    const counts = await kb.data("badges");
    for (const [name, number] of Object.entries(counts)) {
      const at = new RegExp(`(^|/)${name}(\\.html|/)$`);
      for (const link of document.querySelectorAll(".md-nav--primary a.md-nav__link")) {
        if (!number || !at.test(link.pathname) || link.querySelector(".kb-badge")) continue;
        link.append(kb.make("span", { className: "kb-badge", textContent: number }));
      }
    }
  }

  /* The neighbours of a record go beside the page where there is room. */
  function placeNeighbours() {
    const near = document.querySelector(".kb-near"), side = document.querySelector(".md-sidebar--primary .md-sidebar__inner");
    const wide = window.matchMedia("(min-width: 76.25em)");
    if (!near || !side) return;
    const content = near.parentElement, put = () => (wide.matches ? side : content).append(near);
    wide.addEventListener("change", put);
    put();
  }

  /* The search of the first page, the palette, and the keys that go to the next record. */
  const isWriting = target => target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
  async function openPalette() {
    await kb.load(new URL("kb-palette.js", assets));
    await window.kbOpenPalette();
  }
  function go(rel) {
    const link = document.querySelector(`.kb-steps [rel="${rel}"]`);
    if (link) { location.href = link.href; return; }
    const rows = [...document.querySelectorAll(".kb-row-title a")].filter(one => one.offsetParent);
    const next = rows[rows.indexOf(document.activeElement) + (rel === "next" ? 1 : -1)];
    if (next || rel === "next") (next || rows[0])?.focus();
  }
  function listenForKeys() {
    document.addEventListener("keydown", event => {
      if ((event.metaKey || event.ctrlKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k" && kb.start) {
        event.preventDefault();
        event.stopPropagation();
        openPalette();
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isWriting(event.target) || document.querySelector("dialog[open], #__search:checked")) return;
      const rel = { n: "next", j: "next", p: "prev", k: "prev" }[event.key];
      if (rel) { event.preventDefault(); go(rel); }
    }, true);
  }
  function makeHero() {
    const hero = document.querySelector(".kb-open-search"), field = document.querySelector("input.md-search__input");
    if (!hero || !field) return;
    hero.addEventListener("click", () => {
      document.querySelector("#__search").click();
      field.focus();
    });
  }

  /* What scrolls sideways is reached by the keyboard; the theme's frame around a button that copies code is no landmark. */
  function makeReachable() {
    const place = document.querySelector(".md-content");
    if (!place) return;
    let isAsked = false;
    const look = () => {
      isAsked = false;
      for (const frame of place.querySelectorAll("nav.md-code__nav:not([role])")) frame.setAttribute("role", "none");
      for (const box of place.querySelectorAll(".md-typeset__scrollwrap, pre > code, .kb-arcs")) {
        if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      }
    };
    const ask = () => { if (!isAsked) requestAnimationFrame(look); isAsked = true; };
    new MutationObserver(ask).observe(place, { childList: true, subtree: true });
    window.addEventListener("resize", ask);
    look();
  }

  /* What is not there: what the address speaks of is searched for, and the numbers next to it are named. */
  async function makeMissing() {
    const place = document.querySelector(".kb-missing");
    if (!place) return;
    const lists = await kb.data("lists");
    const [, letters, digits] = /([A-Z]{1,2})0*(\d{1,9})(?=[/.]|$)(?!.*[A-Z]{1,2}\d)/.exec(decodeURIComponent(location.pathname)) || [];
    if (!letters) return;
    const pieces = await Promise.all(Array.from({ length: lists.rows }, (_, n) => kb.data(`rows-${n}`)));
    const far = id => { const found = /^([A-Z]+)(\d+)$/.exec(id); return found && found[1] === letters ? Math.abs(Number(found[2]) - digits) : Infinity; };
    const near = pieces.flat().filter(row => far(row[0]) < Infinity).sort((a, b) => far(a[0]) - far(b[0])).slice(0, 6);
    if (!near.length) return;
    place.append(kb.make("p", { textContent: lists.words.near }), kb.make("ul", { className: "kb-entries" }, ...near.map(
      ([id, title, , scope, status, , url]) => kb.make("li", {}, kb.sign(status, lists.status[status]), " ",
        kb.make("a", { href: new URL(url, kb.top()) }, kb.title(id, title)), kb.make("span", { className: "kb-faint", textContent: ` · ${lists.scope[scope]}` })))));
    kb.spoken(place);
  }

  /* A button that turns what the wiki itself says to the other language; what people wrote stays as it is. */
  const kept = () => { try { return localStorage.getItem("kb-language") || own; } catch { return own; } };
  async function turn(language) {
    await kb.load(new URL("kb-language.js", assets));
    await window.kbTurn(language);
    root.lang = language;
  }
  kb.changeLanguage = () => document.querySelector(".kb-language")?.click();

  function makeLanguage() {
    const place = document.querySelector(".md-header__inner");
    if (!place || place.querySelector(".kb-language")) return;
    const button = kb.make("button", { type: "button", className: "kb-language md-header__button" });
    const name = language => {
      button.textContent = language === "zh" ? "English" : "中文";
      button.lang = language === "zh" ? "en" : "zh";
    };
    button.addEventListener("click", async () => {
      const language = root.lang.startsWith("zh") ? "en" : "zh";
      try { localStorage.setItem("kb-language", language); } catch { /* it holds for this page alone */ }
      await turn(language);
      name(language);
    });
    name(kept());
    place.insertBefore(button, place.querySelector("[for=__search]"));
    if (kept() !== own) turn(kept());
  }

  kb.prepare = within => { makeCopies(within); kb.spoken(within); };

  function start() {
    const first = document.querySelector("[data-kb]");
    if (!first) return;
    kb.start = new URL(first.dataset.kb, location);
    const search = document.querySelector(".md-search[role=dialog]");
    if (search) search.setAttribute("aria-label", search.querySelector("input").placeholder);
    placeNeighbours();
    makeLanguage();
    makeHero();
    makeTables();
    makeLists();
    makeGraph();
    makeMissing();
    makeReachable();
    makeBadges();
    makeCopies(document);
    document.body.append(card);
  }
  listenForCards();
  listenForKeys();
  if (typeof document$ !== "undefined") document$.subscribe(start);
  else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
