/* The filters of the search: they write into the question what one could type (kind:decision #tag). */
"use strict";
(() => {
  const folded = text => text.normalize("NFKC").toLowerCase();
  const written = (field, value) => (field === "tag" ? `#${value}` : `${field}:${value}`);

  function choice(field, told) {
    const select = document.createElement("select");
    select.name = field;
    select.setAttribute("aria-label", told.label);
    select.append(new Option(told.label, ""));
    for (const [value, label] of told.names) select.append(new Option(label || value, value));
    return select;
  }

  async function makeFilters() {
    const field = document.querySelector("input.md-search__input");
    const place = document.querySelector(".md-search-result");
    if (!field || !place || place.querySelector(".kb-find")) return;
    window.kbWake?.();
    const bar = document.createElement("div");
    bar.className = "kb-find";
    place.prepend(bar);
    const start = await window.kbPart("start");
    const selects = ["kind", "status", "scope", "tag"].filter(name => start[name].names.length > 1)
      .map(name => choice(name, start[name]));
    bar.append(...selects);
    window.kb?.spoken(bar);

    const words = () => field.value.split(/\s+/).filter(Boolean);
    const ofField = name => word => selects.find(s => s.name === name && [...s.options].some(o => o.value && folded(written(name, o.value)) === folded(word)));
    const follow = () => {
      for (const select of selects) {
        const said = words().find(ofField(select.name));
        select.value = [...select.options].find(o => o.value && said && folded(written(select.name, o.value)) === folded(said))?.value || "";
      }
    };
    bar.addEventListener("change", ({ target }) => {
      const others = words().filter(word => !ofField(target.name)(word));
      field.value = [...others, ...(target.value ? [written(target.name, target.value)] : []), ""].join(" ");
      field.dispatchEvent(new Event("input", { bubbles: true }));
      field.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
    });
    bar.addEventListener("keydown", event => event.key === "Escape" || event.stopPropagation());
    field.addEventListener("input", follow);
    follow();
  }

  function start() {
    const field = document.querySelector("input.md-search__input");
    if (field && field === document.activeElement) makeFilters();
    else field?.addEventListener("focus", makeFilters, { once: true });
  }

  if (typeof document$ !== "undefined") document$.subscribe(start);
  else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
