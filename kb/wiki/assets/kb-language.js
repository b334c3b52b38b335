/* Turns what the wiki itself says to another language: whole texts, and texts with values in them. */
"use strict";
window.kbTurn = async language => {
  const kb = window.kb, { whole, forms } = await kb.words(), to = language === "zh" ? 1 : 0, from = 1 - to;
  const others = await kb.data("other"), own = document.documentElement.dataset.kbOwn ||= document.documentElement.lang.startsWith("zh") ? "zh" : "en";
  const NOT = "script, style, pre, code, kbd, textarea, .kb-words, .kb-text, .kb-person, .kb-diff, .kb-said, .kb-name, .kb-lead, .kb-sides td, .md-typeset blockquote, .kb-verdict, .md-search-result h1, .md-search-result h2, .kb-programs > a:first-child:last-child";
  const TITLES = "a[href*='anchors/'], h1, h2, h3, strong, summary, option, [role=option]";
  const known = new Map(whole.map(pair => [pair[from], pair[to]]));
  /* What kb check says has been said in both languages: first that of the wiki, then the other one. */
  for (const pair of others) known.set(...(language === own ? [pair[1], pair[0]] : pair));
  const escaped = text => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const shapes = forms.map(pair => {
    const names = [...pair[from].matchAll(/\{(\w+)\}/g)].map(found => found[1]);
    return { shape: new RegExp(`^${pair[from].split(/\{\w+\}/).map(escaped).join("(.+?)")}$`), names, said: pair[to] };
  });

  function turned(text, isTitle) {
    const found = known.get(text);
    if (found !== undefined) return found;
    const [field, value] = text.split(/: ?|：/);
    if (known.has(field) && (known.has(value) || /^\d+$/.test(value))) return `${known.get(field)}${to ? "：" : ": "}${known.get(value) ?? value}`;
    if (isTitle) return text;
    for (const { shape, names, said } of shapes) {
      const values = shape.exec(text);
      if (values) return said.replace(/\{(\w+)\}/g, (all, name) => list(values[names.indexOf(name) + 1]));
    }
    return text;
  }
  const list = text => text.split(/, |、/).map(one => turned(one, true)).join(to ? "、" : ", ");

  /* A number behind a heading, and a sign or a point before a word, are no part of what is said. */
  const parts = /^(\s*(?:[^\w\s\u2e80-\u9fff]+\s+)?)([^]*?)((?:\s*:|：|\s*\(\d+\))?\s*)$/;
  function put(node, get, set, isTitle) {
    const text = get(node), whole = turned(text.trim(), isTitle);
    if (whole !== text.trim()) { set(node, text.replace(text.trim(), () => whole)); return; }
    const [, before, inner, after] = parts.exec(text) || [];
    const said = (inner || "").split(" · ").map(one => turned(one, isTitle)).join(" · ");
    if (inner && said !== inner) set(node, before + said + (to ? after.replace(/\s*:\s*$/, "：") : after.replace("：", ": ")));
  }

  const isTheirs = element => element.closest(NOT) !== null && !element.matches(".kb-sides td > strong");

  function turn(place) {
    const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const node = texts.currentNode, around = node.parentElement;
      if (around && !isTheirs(around)) put(node, one => one.data, (one, said) => { one.data = said; }, Boolean(around.closest(TITLES)));
    }
    for (const name of ["title", "placeholder", "aria-label"]) {
      for (const node of place.querySelectorAll(`[${name}]`)) {
        put(node, one => one.getAttribute(name), (one, said) => one.setAttribute(name, said), false);
      }
    }
  }
  kb.spoken = turn;
  turn(document.body);

  /* What the theme's search says comes while one types. */
  const search = document.querySelector(".md-search__output");
  window.kbTurning?.disconnect();
  if (search) {
    window.kbTurning = new MutationObserver(() => { window.kbTurning.takeRecords(); turn(search); window.kbTurning.takeRecords(); });
    window.kbTurning.observe(search, { childList: true, subtree: true, characterData: true });
  }
};
