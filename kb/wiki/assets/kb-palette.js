/* The palette: records, pages, tags and actions behind one field (Ctrl-K, or the command key with K). */
"use strict";
window.kbOpenPalette = async () => {
  const kb = window.kb, lists = await kb.data("lists"), words = lists.words, MOST = 8;
  const before = document.querySelector(".kb-palette");
  if (before) { before.open ? before.close() : before.showModal(); before.querySelector("input").select(); return; }
  const to = uri => () => { location.href = new URL(uri, kb.top()); };
  const page = name => document.querySelector(`.md-nav--primary a[href$="${name}.html"], .md-nav--primary a[href$="${name}/"]`)?.href;
  const pages = [["home", "index.html"], ["records"], ["map", "graph.html"], ["reviews"], ["inbox"], ["health"], ["governs", "governs/index.html"]]
    .map(([name, file]) => ({ label: words[name], run: to(page((file || name).replace(/\.html$/, "")) || file || `${name}.html`) }));
  const short = document.querySelector(".kb-actions pre"), command = document.querySelector(".kb-actions .kb-command code");
  const copy = element => () => navigator.clipboard?.writeText(element.textContent);
  const actions = [
    ...(short && navigator.clipboard ? [{ label: words.copy, run: copy(short) }] : []),
    ...(command && navigator.clipboard ? [{ label: command.textContent, note: words.actions, run: copy(command) }] : []),
    { label: words.dark, run: () => document.querySelector(".md-header label[for^=__palette]:not([hidden])")?.click() },
    { label: words.language, run: kb.changeLanguage },
  ];

  const field = kb.make("input", { type: "text", placeholder: words.palette, autocomplete: "off", spellcheck: false });
  const list = kb.make("div", { id: "kb-palette-list" });
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", words.palette);
  for (const [name, value] of Object.entries({ role: "combobox", "aria-label": words.palette, "aria-expanded": "true", "aria-controls": list.id })) field.setAttribute(name, value);
  const dialog = kb.make("dialog", { className: "kb-palette" }, field, list);
  dialog.setAttribute("aria-label", words.palette);
  document.body.append(dialog);

  // -- the records come from the search, which fetches little
  let port = null, answered = null, latest = 0;
  async function ask(line) {
    if (!window.kbPart) return [];
    if (!port) {
      await kb.load(new URL("kb-search-engine.js", kb.assets));
      port = window.kbBegin(({ type, data }) => type === 3 && answered?.(data.items), window.kbPart);
    }
    return new Promise(done => { answered = done; port({ type: 2, data: line }); });
  }

  let chosen = 0, options = [];
  const choose = number => {
    options.forEach((one, n) => one.element.setAttribute("aria-selected", String(n === number)));
    chosen = number;
    field.setAttribute("aria-activedescendant", options[number]?.element.id || "");
    options[number]?.element.scrollIntoView({ block: "nearest" });
  };
  function show(groups) {
    options = [];
    list.replaceChildren();
    for (const [name, some] of groups) {
      if (!some.length) continue;
      list.append(kb.make("p", { textContent: words[name] }));
      list.lastChild.setAttribute("role", "presentation");
      for (const one of some) {
        const element = kb.make("div", { id: `kb-option-${options.length}` }, ...one.shown ? [one.shown] : [one.label]);
        if (one.note) element.append(kb.make("span", { className: "kb-faint", textContent: one.note }));
        element.setAttribute("role", "option");
        element.addEventListener("click", () => { dialog.close(); one.run(); });
        list.append(element);
        options.push({ ...one, element });
      }
    }
    if (!options.length) list.append(kb.make("p", { className: "kb-faint", textContent: words.nothing }));
    choose(0);
    kb.spoken(list);
  }

  const holds = (label, line) => line.every(word => kb.folded(label).includes(word));
  async function find() {
    const mine = ++latest, line = kb.folded(field.value).split(/\s+/).filter(Boolean);
    const own = some => some.filter(one => holds(one.label, line));
    const tags = line.length ? lists.tag.filter(tag => holds(`#${tag}`, line)).slice(0, 5).map(tag => ({ label: `#${tag}`, run: to(`${page("records") || "records.html"}?tag=${encodeURIComponent(tag)}`) })) : [];
    if (!line.length) return show([["pages", pages], ["actions", actions]]);
    const records = (await ask(field.value)).slice(0, MOST).map(([item]) => ({
      shown: kb.make("span", {}, ...item.id ? [kb.sign(item.status, lists.status[item.status] || "❓"), " "] : [], kb.title(item.id, item.plain)),
      note: item.id ? lists.scope[item.scope] : "", run: () => { location.href = new URL(item.location, kb.top()); },
    }));
    if (mine === latest) show([["records", records], ["pages", own(pages)], ["tags", tags], ["actions", own(actions)]]);
  }
  field.addEventListener("input", find);
  dialog.addEventListener("keydown", event => {
    event.stopPropagation();
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose((chosen + (event.key === "ArrowDown" ? 1 : -1) + options.length) % Math.max(options.length, 1));
    } else if (event.key === "Enter" && options[chosen] && !event.isComposing) { event.preventDefault(); dialog.close(); options[chosen].run(); }
    else if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") { event.preventDefault(); dialog.close(); }
  });
  dialog.addEventListener("click", event => event.target === dialog && dialog.close());
  dialog.showModal();
  kb.spoken(dialog);
  find();
};
