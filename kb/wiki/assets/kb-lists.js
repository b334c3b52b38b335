/* Lists over the whole knowledge base: what the visitor asks for takes the place of the list that came with the page. */
"use strict";
window.kbExplore = async place => {
  const kb = window.kb, SHOWN = 100, CHOICES = ["kind", "scope", "status", "month"];
  const still = place.querySelector(".kb-static"), preset = JSON.parse(place.dataset.preset);
  const lists = await kb.data("lists"), words = lists.words, fields = {};
  let rows = null, shown = SHOWN, sorted = null;

  // -- the fields
  const bar = kb.make("div", { className: "kb-bar" });
  bar.setAttribute("role", "group");
  const add = (name, field) => {
    field.setAttribute("aria-label", words[name]);
    field.addEventListener("input", () => { shown = SHOWN; show(); });
    bar.append(fields[name] = field);
  };
  const typed = (name, more = {}) => add(name, kb.make("input", { type: "search", placeholder: words[name], ...more }));
  typed("text", { className: "kb-filter" });
  for (const name of CHOICES) {
    if (name in preset) continue;
    const known = Array.isArray(lists[name]) ? lists[name].map(one => [one, one]) : Object.entries(lists[name]);
    if (known.length < 2 && name !== "status") continue;
    const all = kb.make("option", { value: "", textContent: `${words[name]}: ${words.all}` });
    add(name, kb.make("select", {}, all, ...known.map(([value, label]) => kb.make("option", { value, textContent: label }))));
  }
  if (lists.tag.length) {
    bar.append(kb.make("datalist", { id: "kb-tags" }, ...lists.tag.map(value => kb.make("option", { value }))));
    typed("tag");
    fields.tag.setAttribute("list", "kb-tags");
  }
  typed("path");
  const clear = kb.make("button", { type: "button", className: "kb-clear", textContent: words.clear });
  clear.addEventListener("click", () => {
    for (const field of Object.values(fields)) field.value = "";
    sorted = null;
    show();
    fields.text.focus();
  });
  bar.append(clear);
  const count = kb.make("p", { className: "kb-count" });
  count.setAttribute("role", "status");
  const found = kb.make("div", { className: "kb-found", hidden: true });
  place.prepend(bar, count, found);

  // -- the rows
  async function read() {
    if (rows) return;
    const pieces = await Promise.all(Array.from({ length: lists.rows }, (_, n) => kb.data(`rows-${n}`)));
    rows = pieces.flat().map(([id, title, kind, scope, status, date, url, tags, impact]) => ({
      id, title, kind, scope, status, date, url, tags, impact,
      words: kb.folded([id, title, lists.scope[scope], date, ...tags.map(tag => `#${tag}`)].join(" ")),
    }));
  }

  /* An impact path governs what is asked for where one is the beginning of the other, folder by folder. */
  const bare = path => path.replace(/[*?[].*/, "").replace(/\/+$/, "");
  const governs = (own, asked) => own === asked || own === "" || asked.startsWith(`${own}/`) || own.startsWith(`${asked}/`);

  function wanted() {
    const value = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.value.trim()]));
    const text = kb.folded(value.text).split(/\s+/).filter(Boolean);
    const tag = kb.folded(value.tag || "").replace(/^#/, ""), path = bare(value.path.replace(/^\.?\/+/, ""));
    const is = name => preset[name] || value[name] || "";
    const [kind, scope, status, month] = CHOICES.map(is);
    return row => (!kind || row.kind === kind) && (!scope || row.scope === scope) && (!status || row.status === status)
      && (!month || row.date.startsWith(month)) && (!tag || row.tags.some(one => kb.folded(one).includes(tag)))
      && (!path || row.impact.some(one => governs(bare(one), path))) && text.every(word => row.words.includes(word));
  }

  const KEYS = [
    row => Object.keys(lists.status).indexOf(row.status), row => row.id, row => lists.scope[row.scope], row => row.date,
    row => row.tags.join(" "),
  ];
  const order = new Intl.Collator(undefined, { numeric: true }).compare;
  function inOrder(some) {
    if (!sorted) return some;
    const key = KEYS[sorted.column], sign = sorted.up ? 1 : -1;
    return some.map(row => [key(row), row]).sort(([a], [b]) => order(a, b) * sign).map(([, row]) => row);
  }

  const isAsked = () => "open" in place.dataset || sorted || Object.values(fields).some(field => field.value.trim());
  async function show() {
    remember();
    if (!isAsked()) { still.hidden = false; found.hidden = true; count.textContent = ""; return; }
    await read();
    const some = inOrder(rows.filter(wanted()));
    count.textContent = words.found.replace("{found}", some.length).replace("{all}", rows.length);
    found.replaceChildren(table(some.slice(0, shown)));
    if (some.length > shown) found.append(more());
    still.hidden = !("open" in place.dataset) || some.length > 0;
    found.hidden = false;
    kb.spoken(place);
  }

  function table(some) {
    const heads = words.heads.split("|").map(word => kb.make("th", { textContent: word, scope: "col" }));
    const body = kb.make("tbody", {}, ...some.map(line));
    const made = kb.make("table", {}, kb.make("thead", {}, kb.make("tr", {}, ...heads)), body);
    made.dataset.kbList = "1";
    if (sorted) heads[sorted.column].setAttribute("aria-sort", sorted.up ? "ascending" : "descending");
    kb.sortable(made, sort);
    return made;
  }

  function line(row) {
    const link = kb.make("a", { href: new URL(row.url, new URL("..", kb.start)), textContent: `${row.id} ${row.title}` });
    const tags = row.tags.map(tag => `#${tag}`).join(" ");
    const name = lists.status[row.status] ? row.status : "unknown";
    const cells = [kb.badge(name, lists.status[row.status] || row.status), link, lists.scope[row.scope], row.date, tags];
    return kb.make("tr", {}, ...cells.map(cell => kb.make("td", {}, cell)));
  }

  function more() {
    const button = kb.make("button", { type: "button", className: "kb-more", textContent: words.more });
    button.addEventListener("click", () => { shown += SHOWN; show(); });
    return button;
  }

  function sort(column, up) {
    sorted = { column, up };
    const again = found.contains(document.activeElement);
    show().then(() => again && found.querySelectorAll(".kb-sort")[column].focus());
  }

  // -- the address says what is asked for, so that it can be handed on
  function remember() {
    const said = new URLSearchParams();
    for (const [name, field] of Object.entries(fields)) if (field.value.trim()) said.set(name, field.value.trim());
    const query = said.size ? `?${said}` : "";
    if (query !== location.search) history.replaceState(null, "", `${location.pathname}${query}${location.hash}`);
  }
  for (const [name, value] of new URLSearchParams(location.search)) if (fields[name]) fields[name].value = value;
  for (const one of still.querySelectorAll("table[data-kb-list]")) kb.sortable(one, sort);
  kb.spoken(place);
  if (isAsked()) await show();
};
