/* Records over the whole knowledge base: what the visitor asks for takes the place of the list that came with the page. */
"use strict";
window.kbExplore = async place => {
  const kb = window.kb, SHOWN = 60, FACETS = ["status", "kind", "scope", "tag", "month"], FEW = 8;
  const still = place.querySelector(".kb-static"), isGoverns = place.classList.contains("kb-governs");
  const lists = await kb.data("lists"), words = lists.words;
  const asked = { text: "", path: "", sort: "", ...Object.fromEntries(FACETS.map(name => [name, ""])) };
  const wide = new Set();
  let rows = null, shown = SHOWN;
  if (!lists.records) return;

  // -- the rows
  const labels = {
    status: value => (lists.status[value] || value).replace(/^\S+ /, ""), kind: value => lists.kind[value] || value,
    scope: value => lists.scope[value] || value, tag: value => `#${value}`, month: value => value,
  };
  const valuesOf = { status: row => [row.status], kind: row => [row.kind], scope: row => [row.scope], tag: row => row.tags, month: row => [row.date.slice(0, 7)] };
  async function read() {
    if (rows) return;
    const pieces = await Promise.all(Array.from({ length: lists.rows }, (_, n) => kb.data(`rows-${n}`)));
    rows = pieces.flat().map(([id, title, kind, scope, status, date, url, tags, impact, cited, named]) => ({
      id, title, kind, scope, status, date, url, tags, impact, cited, named,
      words: kb.folded([id, title, lists.scope[scope], date, ...tags.map(tag => `#${tag}`)].join(" ")),
    }));
  }

  /* As `kb list PATH` has it: a record governs a path if it names the path, a folder it is in, a pattern that matches
     it, or something in the folder that it is. In a pattern * and ? stand for slashes as well. */
  const bare = path => path.trim().replace(/^(\.?\/)+/, "").replace(/\/+$/, "");
  const matches = (pattern, path) => {
    const source = pattern.replace(/\[(\^?)([^\]]+)\]|[\\^$.+()|{}[\]*?]/g, (sign, not, set) =>
      set ? `[${not}${set.replace(/[\\\]^]/g, "\\$&")}]` : sign === "*" ? "[^]*" : sign === "?" ? "[^]" : `\\${sign}`);
    try { return new RegExp(`^${source}$`, "u").test(path); } catch { return false; }
  };
  const governs = (value, path) => {
    const own = value.replace(/\/+$/, "");
    return own === path || path.startsWith(`${own}/`) || value.startsWith(`${path}/`)
      || (/[*?[]/.test(value) && (matches(value, path) || matches(`${own}/*`, path)));
  };

  function test(but = "") {
    const text = kb.folded(asked.text).split(/\s+/).filter(Boolean);
    const path = bare(asked.path);
    const set = FACETS.filter(name => asked[name] && name !== but);
    return row => set.every(name => name === "month" ? row.date.startsWith(asked.month) : valuesOf[name](row).includes(asked[name]))
      && (!path || [...row.impact, ...row.named].some(one => governs(one, path))) && text.every(word => row.words.includes(word));
  }

  const numeric = new Intl.Collator(undefined, { numeric: true }).compare;
  const ORDERS = {
    "": (a, b) => (a.date < b.date ? 1 : a.date > b.date ? -1 : numeric(b.id, a.id)),
    oldest: (a, b) => (a.date < b.date ? -1 : a.date > b.date ? 1 : numeric(a.id, b.id)),
    number: (a, b) => numeric(a.scope, b.scope) || numeric(a.id, b.id),
    title: (a, b) => numeric(a.title, b.title),
    cited: (a, b) => b.cited - a.cited || numeric(b.date, a.date),
  };

  /* The nearest first: the path itself, then the folders above it, then what is below. */
  const nearness = row => {
    const path = bare(asked.path), own = row.impact.some(one => governs(one, path)) ? row.impact : row.named;
    return Math.min(...own.filter(one => governs(one, path)).map(one => Math.abs(one.length - path.length)));
  };

  // -- what the visitor sees
  const link = row => kb.make("a", { href: new URL(row.url, kb.top()) }, kb.title(row.id, row.title));
  function line(row) {
    const name = lists.status[row.status] ? row.status : "unknown", said = lists.status[row.status] || `❓ ${row.status}`;
    const facts = [labels.status(row.status), labels.kind(row.kind), labels.scope(row.scope), row.date];
    if (asked.sort === "cited" && row.cited) facts.push(`← ${row.cited}`);
    const tags = row.tags.slice(0, 2).map(tag => kb.make("a", { className: "kb-tag", href: `?tag=${encodeURIComponent(tag)}`, textContent: `#${tag}` }));
    const about = kb.make("p", { className: "kb-row-facts" }, facts.filter(Boolean).join(" · "));
    if (isGoverns) about.append(" · ", ...[...row.impact, ...row.named].filter(own => governs(own, bare(asked.path))).slice(0, 3).flatMap(own => [kb.make("code", { textContent: own }), " "]));
    else if (tags.length) about.append(" · ", ...tags.flatMap(one => [one, " "]), row.tags.length > 2 ? `+${row.tags.length - 2}` : "");
    return kb.make("li", { className: "kb-row" }, kb.make("p", { className: "kb-row-title" }, kb.sign(name, said), " ", link(row)), about);
  }

  function list(some, again = show) {
    const made = kb.make("ul", { className: "kb-rows" }, ...some.slice(0, shown).map(line));
    if (some.length <= shown) return [made];
    const more = kb.make("button", { type: "button", className: "kb-more", textContent: words.more });
    more.addEventListener("click", () => { shown += SHOWN; again(); });
    return [made, more];
  }

  const found = kb.make("div", { className: "kb-found", hidden: true });
  const count = kb.make("p", { className: "kb-count" });
  count.setAttribute("role", "status");

  // -- the page that asks what governs a path
  if (isGoverns) {
    const field = kb.make("input", { type: "search", name: "path", placeholder: words.path, spellcheck: false, autocapitalize: "off" });
    field.setAttribute("aria-label", words.path);
    field.value = asked.path = new URLSearchParams(location.search).get("path") || "";
    const form = kb.make("form", { className: "kb-bar" }, field);
    form.addEventListener("submit", event => event.preventDefault());
    const showGoverning = async () => {
      asked.path = field.value;
      const path = asked.path.trim();
      history.replaceState(null, "", `${location.pathname}${path ? `?path=${encodeURIComponent(path).replaceAll("%2F", "/")}` : ""}`);
      found.hidden = !path;
      count.textContent = "";
      still.hidden = false;
      if (!path) return;
      await read();
      const isLive = row => ["accepted", "proposed"].includes(row.status), isDeclared = row => row.impact.some(one => governs(one, bare(path)));
      const all = rows.filter(test()).sort((a, b) => (a.status !== "accepted") - (b.status !== "accepted") || nearness(a) - nearness(b));
      const live = all.filter(isLive), groups = [["", live.filter(isDeclared)], ["named", live.filter(row => !isDeclared(row))], ["ended", all.filter(row => !isLive(row))]];
      count.textContent = (live.length ? words.governed : words.ungoverned).replace("{path}", path).replace("{number}", live.length);
      still.hidden = all.length > 0;
      found.replaceChildren(...groups.filter(([, some]) => some.length).flatMap(([name, some]) => {
        const head = name ? [kb.make("h2", { className: "kb-group-head", textContent: words[name].replace("{number}", some.length) })] : [];
        return [...head, ...list(some, showGoverning)];
      }));
      kb.spoken(place);
    };
    let wait = 0;
    field.addEventListener("input", () => { clearTimeout(wait); shown = SHOWN; wait = setTimeout(showGoverning, 80); });
    still.before(form, count, found);
    still.addEventListener("click", event => {
      const link = event.target.closest("a");
      if (!link || event.metaKey || event.ctrlKey) return;
      event.preventDefault();
      field.value = new URL(link.href).searchParams.get("path");
      showGoverning();
    });
    field.focus({ preventScroll: true });
    kb.spoken(place);
    return showGoverning();
  }

  // -- the fields
  const fields = kb.make("div", { className: "kb-fields" });
  const typed = name => {
    const field = kb.make("input", { type: "search", name, placeholder: words[name] });
    field.setAttribute("aria-label", words[name]);
    field.addEventListener("input", () => { asked[name] = field.value; shown = SHOWN; show(); });
    fields.append(field);
    return field;
  };
  const inputs = { text: typed("text"), path: typed("path") };
  const sorts = words.sorts.split("|");
  const order = kb.make("select", { name: "sort" }, ...["", "oldest", "number", "title", "cited"].map((value, n) => kb.make("option", { value, textContent: sorts[n] })));
  order.setAttribute("aria-label", words.sort);
  order.addEventListener("input", () => { asked.sort = order.value; show(); });
  fields.append(order);
  const set = kb.make("div", { className: "kb-set" });
  const bar = kb.make("div", { className: "kb-bar" }, fields, set, count);
  bar.setAttribute("role", "search");
  bar.setAttribute("aria-label", words.filters);
  const facets = kb.make("details", { className: "kb-facets", open: matchMedia("(min-width: 60em)").matches });
  facets.append(kb.make("summary", { textContent: words.filters }));
  matchMedia("(min-width: 60em)").addEventListener("change", event => { facets.open = event.matches; });
  place.classList.add("kb-live-list");
  place.prepend(bar, facets, found);

  function choose(name, value) {
    asked[name] = asked[name] === value ? "" : value;
    shown = SHOWN;
    show().then(() => place.querySelector(`[data-facet="${name}"][data-value="${CSS.escape(value)}"]`)?.focus());
  }

  function showFacets() {
    const groups = FACETS.map(name => {
      const counts = new Map();
      for (const row of rows.filter(test(name))) for (const value of valuesOf[name](row)) if (value) counts.set(value, (counts.get(value) || 0) + 1);
      const byValue = name === "month" ? (a, b) => (a[0] < b[0] ? 1 : -1) : (a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1);
      const all = [...counts].sort(byValue), some = wide.has(name) ? all : all.slice(0, FEW);
      if (asked[name] && !some.some(([value]) => value === asked[name])) some.push([asked[name], counts.get(asked[name]) || 0]);
      if (all.length < 2 && !asked[name]) return "";
      const buttons = some.map(([value, number]) => {
        const button = kb.make("button", { type: "button" },
          kb.make("span", {}, name === "status" ? kb.badge(lists.status[value] ? value : "unknown", lists.status[value] || `❓ ${value}`) : labels[name](value)),
          kb.make("span", { className: "kb-number", textContent: number }));
        Object.assign(button.dataset, { facet: name, value });
        button.setAttribute("aria-pressed", String(asked[name] === value));
        button.addEventListener("click", () => choose(name, value));
        return button;
      });
      const group = kb.make("fieldset", {}, kb.make("legend", { textContent: words[name] }), ...buttons);
      if (all.length > FEW) {
        const rest = kb.make("button", { type: "button", className: "kb-rest", textContent: wide.has(name) ? words.fewer : words.more });
        rest.addEventListener("click", () => { wide.has(name) ? wide.delete(name) : wide.add(name); showFacets(); });
        group.append(rest);
      }
      return group;
    });
    facets.replaceChildren(facets.firstChild, ...groups.filter(Boolean));
  }

  function showSet() {
    const chips = [...FACETS, "text", "path"].filter(name => asked[name].trim()).map(name => {
      const chip = kb.make("button", { type: "button", textContent: (labels[name] || String)(asked[name]) });
      chip.setAttribute("aria-label", `${words.remove}${kb.colon}${words[name]} ${asked[name]}`);
      chip.addEventListener("click", () => { asked[name] = ""; if (inputs[name]) inputs[name].value = ""; show(); inputs.text.focus(); });
      return chip;
    });
    if (chips.length) {
      const clear = kb.make("button", { type: "button", className: "kb-clear", textContent: words.clear });
      clear.addEventListener("click", () => {
        for (const name of Object.keys(asked)) asked[name] = "";
        for (const field of [inputs.text, inputs.path, order]) field.value = "";
        show();
        inputs.text.focus();
      });
      chips.push(clear);
    }
    set.replaceChildren(...chips);
  }

  const isAsked = () => Object.values(asked).some(value => value.trim());
  async function show() {
    remember();
    await read();
    const some = rows.filter(test()).sort(ORDERS[asked.sort] || ORDERS[""]);
    count.textContent = (rows.length === 1 ? words.foundOne : words.found).replace("{found}", some.length).replace("{all}", rows.length);
    showFacets();
    showSet();
    still.hidden = isAsked();
    found.hidden = !isAsked();
    if (isAsked()) {
      const none = kb.make("p", {}, `${words.none} `, kb.make("kbd", { textContent: "/" }));
      found.replaceChildren(...(some.length ? list(some) : [none]));
    }
    kb.spoken(place);
  }

  // -- the address says what is asked for, so that it can be handed on
  function remember() {
    const said = new URLSearchParams(Object.entries(asked).filter(([, value]) => value.trim()));
    const query = said.size ? `?${said}` : "";
    if (query !== location.search) history.replaceState(null, "", `${location.pathname}${query}${location.hash}`);
  }
  for (const [name, value] of new URLSearchParams(location.search)) if (name in asked) asked[name] = value;
  Object.assign(inputs.text, { value: asked.text });
  Object.assign(inputs.path, { value: asked.path });
  order.value = asked.sort;
  await show();
};
