/* Turns what the wiki itself says to another language: whole texts, and texts with values in them. */
"use strict";
window.kbTurn = async language => {
  const kb = window.kb, { whole, forms } = await kb.words(), to = language === "zh" ? 1 : 0, from = 1 - to;
  const NOT = "script, style, pre, code, textarea, .kb-text, .kb-person, .kb-diff, .kb-said, .kb-sides td, .md-typeset blockquote";
  const TITLES = "a, h1, h2, h3, strong, summary, option";
  const known = new Map(whole.map(pair => [pair[from], pair[to]]));
  const escaped = text => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const shapes = forms.map(pair => {
    const names = [...pair[from].matchAll(/\{(\w+)\}/g)].map(found => found[1]);
    return { shape: new RegExp(`^${pair[from].split(/\{\w+\}/).map(escaped).join("(.+?)")}$`), names, said: pair[to] };
  });

  function turned(text, isTitle) {
    const found = known.get(text);
    if (found !== undefined) return found;
    const [field, value] = text.split(": ");
    if (known.has(field) && known.has(value)) return `${known.get(field)}: ${known.get(value)}`;
    if (isTitle) return text;
    for (const { shape, names, said } of shapes) {
      const values = shape.exec(text);
      if (values) return said.replace(/\{(\w+)\}/g, (all, name) => turned(values[names.indexOf(name) + 1], true));
    }
    return text;
  }

  /* A number behind a heading, and a sign or a point before a word, are no part of what is said. */
  const parts = /^(\s*(?:[^\w\s\u2e80-\u9fff]+\s+)?)([^]*?)((?:\s*:|\s*\(\d+\))?\s*)$/;
  function put(node, get, set, isTitle) {
    const [, before, text, after] = parts.exec(get(node)) || [];
    const said = (text || "").split(" · ").map(one => turned(one, isTitle)).join(" · ");
    if (text && said !== text) set(node, before + said + after);
  }

  const isTheirs = element => element.closest(NOT) !== null && !element.matches(".kb-sides td > strong");

  function turn(place) {
    const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const node = texts.currentNode, around = node.parentElement;
      if (!isTheirs(around)) put(node, one => one.data, (one, said) => { one.data = said; }, Boolean(around.closest(TITLES)));
    }
    for (const name of ["title", "placeholder", "aria-label"]) {
      for (const node of place.querySelectorAll(`[${name}]`)) {
        put(node, one => one.getAttribute(name), (one, said) => one.setAttribute(name, said), true);
      }
    }
  }
  kb.spoken = turn;
  turn(document.body);
};
