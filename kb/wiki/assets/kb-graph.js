/* Draws the map of records (graph-data.js) on a canvas: by their relations, or along the time. */
"use strict";
window.kbDrawGraph = (box, data, base) => {
  const KINDS = ["decision", "constraint", "interface", "pitfall", "pattern", "preference", "checklist", "domain-note"];
  const COLOURS = ["#1f77b4", "#d62728", "#8c564b", "#e0861a", "#2ca02c", "#9467bd", "#0f9fb0", "#7f7f7f"];
  const LINKS = { supersedes: "#d62728", amends: "#e0861a", cites: "#5a8fd6", path: "#9a9a9a88" };
  const STEPS = 260, NEAR = 60, HIT = 9, FEW = 40;
  const nodes = data.nodes.map(([id, title, kind, scope, status, said, date, url], n) =>
    ({ n, id, title, kind, scope, status, said, date, url, x: 0, y: 0, degree: 0, near: new Set(), found: false, shown: true }));
  const edges = data.edges.map(([from, to, what]) => ({ from: nodes[from], to: nodes[to], what }));
  for (const { from, to } of edges) { from.degree++; to.degree++; from.near.add(to); to.near.add(from); }
  const scopes = [...new Set(nodes.map(node => node.scope))];
  const view = { x: 0, y: 0, zoom: 1 };
  const chosen = { scope: "", kinds: new Set(Object.keys(data.words.kinds)), what: new Set(Object.keys(data.words.relations)), alone: new Set(), time: false };
  let over = null, step = 0;

  // -- the fields above the map
  const make = (tag, given = {}) => Object.assign(document.createElement(tag), given);
  const bar = make("div", { className: "kb-graph-bar" });
  const select = make("select");
  select.append(make("option", { value: "", textContent: data.words.all }));
  for (const scope of scopes) select.append(make("option", { value: scope, textContent: scope }));
  select.setAttribute("aria-label", data.words.all);
  select.onchange = () => { chosen.scope = select.value; begin(); };
  const layout = make("select");
  layout.append(make("option", { value: "", textContent: data.words.map }), make("option", { value: "t", textContent: data.words.time }));
  layout.setAttribute("aria-label", data.words.map);
  chosen.time = location.hash === "#time";
  layout.value = chosen.time ? "t" : "";
  layout.onchange = () => { chosen.time = layout.value === "t"; begin(); };
  const find = make("input", { type: "search", placeholder: data.words.find });
  find.setAttribute("aria-label", data.words.find);
  find.oninput = () => {
    const wanted = find.value.trim().toLowerCase();
    for (const node of nodes) node.found = wanted !== "" && `${node.id} ${node.title}`.toLowerCase().includes(wanted);
    draw();
  };
  bar.append(select, layout, find);
  const tick = (set, key, label, colour, isLine = false) => {
    const input = make("input", { type: "checkbox", checked: set.has(key) });
    input.onchange = () => { input.checked ? set.add(key) : set.delete(key); begin(); };
    const sample = make("span", { className: isLine ? "kb-graph-line" : "kb-graph-colour", hidden: !colour });
    sample.style.background = colour;
    const row = make("label");
    row.append(input, sample, label);
    bar.append(row);
  };
  const lonely = nodes.filter(node => !node.degree).length;
  if (lonely < FEW) chosen.alone.add("yes");
  for (const [kind, label] of Object.entries(data.words.kinds)) tick(chosen.kinds, kind, label, colourOf(kind));
  for (const [what, label] of Object.entries(data.words.relations)) tick(chosen.what, what, label, LINKS[what], true);
  if (lonely) tick(chosen.alone, "yes", `${data.words.alone} (${lonely})`, "");
  const canvas = make("canvas", { tabIndex: 0 });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${data.words.map}: ${nodes.length}`);
  const said = make("p", { className: "kb-graph-said" });
  said.setAttribute("aria-live", "polite");
  box.replaceChildren(bar, canvas, said);

  function colourOf(kind) {
    const at = KINDS.indexOf(kind);
    return COLOURS[at < 0 ? COLOURS.length - 1 : at];
  }

  // -- where the points stand
  function begin() {
    for (const node of nodes) {
      node.shown = (!chosen.scope || node.scope === chosen.scope) && chosen.kinds.has(node.kind)
        && (chosen.time || node.degree > 0 || chosen.alone.has("yes"));
    }
    over = null;
    step = 0;
    chosen.time ? alongTime() : scattered();
    fit();
    if (!chosen.time) move(); else draw();
  }

  /* Every scope has a place of its own, the larger ones more room; its records begin around it. */
  const homes = new Map();
  function scattered() {
    const seen = nodes.filter(node => node.shown);
    const groups = scopes.map(scope => seen.filter(node => node.scope === scope)).filter(some => some.length);
    groups.sort((a, b) => b.length - a.length);
    const wide = some => 22 * Math.sqrt(some.length) + 40, around = groups.slice(1).reduce((sum, some) => sum + 2 * wide(some), 0);
    const far = groups.length > 1 ? Math.max(around / (2 * Math.PI), wide(groups[0]) + wide(groups[1])) : 0;
    let turn = 0;
    groups.forEach((some, place) => {
      const share = place ? wide(some) / far : 0;
      const angle = turn + share;
      turn += 2 * share;
      const home = place ? { x: Math.cos(angle) * far, y: Math.sin(angle) * far * 0.75 } : { x: 0, y: 0 };
      homes.set(some[0].scope, home);
      some.forEach((node, n) => {
        node.x = home.x + Math.cos(n * 2.39996) * 14 * Math.sqrt(n + 1);
        node.y = home.y + Math.sin(n * 2.39996) * 14 * Math.sqrt(n + 1);
      });
    });
  }

  function alongTime() {
    const seen = nodes.filter(node => node.shown && node.date).sort((a, b) => a.date.localeCompare(b.date));
    const lanes = [...new Set(seen.map(node => node.scope))];
    const taken = new Map();
    for (const node of nodes) node.shown = node.shown && Boolean(node.date);
    const first = seen.length ? Date.parse(seen[0].date) : 0;
    const span = Math.max(1, (seen.length ? Date.parse(seen[seen.length - 1].date) : 1) - first);
    const wide = Math.max(1200, seen.length * 3), slots = wide / 20, high = new Map();
    for (const node of seen) {
      const at = (Date.parse(node.date) - first) / span || 0, slot = `${node.scope} ${Math.round(at * slots)}`;
      node.stack = (taken.get(slot) || 0) + 1;
      taken.set(slot, node.stack);
      high.set(node.scope, Math.max(high.get(node.scope) || 0, node.stack));
      node.x = at * wide;
    }
    let floor = 0;
    const floors = new Map(lanes.map(scope => [scope, floor += high.get(scope) * 14 + wide / 12]));
    for (const node of seen) {
      node.lane = floors.get(node.scope);
      node.y = node.lane - node.stack * 14;
    }
  }

  function move() {
    const seen = nodes.filter(node => node.shown);
    const until = performance.now() + 12;
    do { push(seen, 1 - step / STEPS); step++; } while (step < STEPS && performance.now() < until);
    if (step % 5 === 0 || step >= STEPS) fit();
    draw();
    if (step < STEPS) requestAnimationFrame(move);
  }

  /* Points push those near them away and are pulled along their relations and, weakly, to the middle. */
  function push(seen, heat) {
    const cells = new Map();
    for (const node of seen) {
      node.cell = [Math.floor(node.x / NEAR), Math.floor(node.y / NEAR)];
      const key = node.cell.join();
      cells.has(key) ? cells.get(key).push(node) : cells.set(key, [node]);
      const home = homes.get(node.scope);
      node.dx = (home.x - node.x) * 0.008;
      node.dy = (home.y - node.y) * 0.008;
    }
    for (const node of seen) for (let a = -1; a < 2; a++) for (let b = -1; b < 2; b++) {
      for (const other of cells.get(`${node.cell[0] + a},${node.cell[1] + b}`) || []) {
        const x = node.x - other.x || (node.n - other.n) * 0.01, y = node.y - other.y, far = x * x + y * y + 0.01;
        if (other === node || far > NEAR * NEAR) continue;
        node.dx += x / far * 40;
        node.dy += y / far * 40;
      }
    }
    for (const { from, to, what } of edges) {
      if (!from.shown || !to.shown || !chosen.what.has(what)) continue;
      const x = to.x - from.x, y = to.y - from.y, far = Math.hypot(x, y) || 1, pull = (far - 34) * 0.03 / far;
      from.dx += x * pull; from.dy += y * pull; to.dx -= x * pull; to.dy -= y * pull;
    }
    for (const node of seen) {
      const far = Math.hypot(node.dx, node.dy) || 1, most = Math.min(far, 12 * heat + 0.5);
      node.x += node.dx / far * most;
      node.y += node.dy / far * most;
    }
  }

  function fit() {
    const seen = nodes.filter(node => node.shown);
    if (!seen.length) return;
    const xs = seen.map(node => node.x), ys = seen.map(node => node.y);
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const { width, height } = canvas.getBoundingClientRect();
    view.zoom = Math.min(3, (width - 60) / Math.max(right - left, 1), (height - 60) / Math.max(bottom - top, 1));
    view.x = width / 2 - (left + right) / 2 * view.zoom;
    view.y = height / 2 - (top + bottom) / 2 * view.zoom;
  }

  // -- the picture
  const at = node => [node.x * view.zoom + view.x, node.y * view.zoom + view.y];
  const size = node => Math.min(9, 3.5 + Math.sqrt(node.degree)) * Math.min(1, 0.55 + view.zoom / 2);

  function draw() {
    const { width, height } = canvas.getBoundingClientRect(), dots = window.devicePixelRatio || 1;
    canvas.width = width * dots;
    canvas.height = height * dots;
    const pen = canvas.getContext("2d"), text = getComputedStyle(box).color;
    pen.scale(dots, dots);
    for (const { from, to, what } of edges) {
      const isAsked = !chosen.time || what === "supersedes" || what === "amends" || from === over || to === over;
      if (!from.shown || !to.shown || !chosen.what.has(what) || !isAsked) continue;
      const [[x, y], [u, v]] = [at(from), at(to)];
      pen.strokeStyle = LINKS[what];
      pen.globalAlpha = over && from !== over && to !== over ? 0.15 : 1;
      pen.lineWidth = over && (from === over || to === over) ? 2.5 : what === "supersedes" ? 1.6 : 0.8;
      pen.beginPath();
      pen.moveTo(x, y);
      chosen.time ? pen.quadraticCurveTo((x + u) / 2, Math.min(y, v) - Math.abs(u - x) / 4 - 12, u, v) : pen.lineTo(u, v);
      pen.stroke();
    }
    const seen = nodes.filter(node => node.shown);
    chosen.time ? drawTimes(pen, seen, width, height, text) : drawScopes(pen, seen, text);
    for (const node of seen) {
      const [x, y] = at(node), live = node.status === "accepted" || node.status === "proposed";
      pen.globalAlpha = faded(node) ? 0.25 : 1;
      pen.beginPath();
      pen.arc(x, y, size(node) + (node.found ? 4 : 0), 0, 7);
      pen.fillStyle = pen.strokeStyle = colourOf(node.kind);
      pen.lineWidth = 1.5;
      live ? pen.fill() : pen.stroke();
      if (node.found || node === over) { pen.strokeStyle = text; pen.lineWidth = 2; pen.stroke(); }
    }
    pen.globalAlpha = 1;
    drawNames(pen, seen, text);
  }

  const faded = node => over && node !== over && !over.near.has(node);

  /* Names stand where there is room for them: first what was asked for, then what many others refer to. */
  function drawNames(pen, seen, text) {
    const taken = new Set(seen.map(node => at(node)).map(([x, y]) => `${Math.floor(x / 10)},${Math.round(y / 13)}`));
    const rank = node => (node === over ? 1e6 : 0) + (node.found ? 1e5 : 0) + (over && over.near.has(node) ? 1e4 : 0) + node.degree;
    pen.font = "11px sans-serif";
    pen.fillStyle = text;
    for (const node of [...seen].sort((a, b) => rank(b) - rank(a))) {
      const [x, y] = at(node), left = x + size(node) + 2;
      const name = view.zoom > 2.2 || node === over ? `${node.id} ${node.title.slice(0, 28)}` : node.id;
      const cells = [];
      for (let u = Math.floor((left + 4) / 10); u <= (left + pen.measureText(name).width) / 10; u++) cells.push(`${u},${Math.round(y / 13)}`);
      if (faded(node) || node !== over && cells.some(cell => taken.has(cell))) continue;
      for (const cell of cells) taken.add(cell);
      pen.fillText(name, left, y + 4);
    }
  }

  function drawScopes(pen, seen, text) {
    pen.font = "bold 15px sans-serif";
    pen.fillStyle = text;
    pen.globalAlpha = 0.55;
    pen.textAlign = "center";
    for (const scope of new Set(seen.map(node => node.scope))) {
      const own = seen.filter(node => node.scope === scope);
      const x = own.reduce((sum, node) => sum + node.x, 0) / own.length, y = Math.min(...own.map(node => node.y));
      pen.fillText(scope, x * view.zoom + view.x, y * view.zoom + view.y - 12);
    }
    pen.textAlign = "start";
    pen.globalAlpha = 1;
  }

  function drawTimes(pen, seen, width, height, text) {
    pen.font = "11px sans-serif";
    pen.fillStyle = text;
    const months = new Map(seen.map(node => [node.date.slice(0, 7), node]));
    let free = 0;
    for (const [month, node] of [...months].sort(([a], [b]) => a.localeCompare(b))) {
      const [x] = at(node);
      if (x < free || x < 0 || x > width) continue;
      pen.fillText(month, x, height - 6);
      free = x + 60;
    }
    pen.font = "bold 13px sans-serif";
    const lanes = new Map(seen.map(node => [node.scope, node.lane]));
    for (const [scope, lane] of lanes) pen.fillText(scope, 6, lane * view.zoom + view.y + 4);
  }

  // -- what the visitor does
  function nearest(event) {
    const { left, top } = canvas.getBoundingClientRect(), x = event.clientX - left, y = event.clientY - top;
    let best = null, far = HIT;
    for (const node of nodes) {
      if (!node.shown) continue;
      const [u, v] = at(node), away = Math.hypot(u - x, v - y) - size(node);
      if (away < far) { best = node; far = away; }
    }
    return best;
  }

  function tell(node) {
    over = node;
    said.replaceChildren();
    if (node) {
      const [sign, ...word] = node.said.split(" ");
      said.append(make("a", { href: new URL(node.url, base), textContent: `${node.id} ${node.title}` }),
        ` · ${word.join(" ") || sign} · ${node.scope} · ${node.date}`);
    }
    canvas.style.cursor = node ? "pointer" : "grab";
    draw();
  }

  let held = null;
  canvas.onpointerdown = event => { held = { x: event.clientX, y: event.clientY, moved: false }; canvas.setPointerCapture(event.pointerId); };
  canvas.onpointermove = event => {
    if (!held) { const node = nearest(event); if (node !== over) tell(node); return; }
    view.x += event.clientX - held.x;
    view.y += event.clientY - held.y;
    held = { x: event.clientX, y: event.clientY, moved: held.moved || Math.abs(event.clientX - held.x) + Math.abs(event.clientY - held.y) > 2 };
    draw();
  };
  canvas.onpointerup = event => {
    const node = held && !held.moved ? nearest(event) : null;
    held = null;
    if (!node) return;
    if (node === over) location.href = new URL(node.url, base);
    else tell(node);
  };
  const zoom = (by, x, y) => {
    view.x = x - (x - view.x) * by;
    view.y = y - (y - view.y) * by;
    view.zoom *= by;
    draw();
  };
  canvas.addEventListener("wheel", event => {
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, event.offsetX, event.offsetY);
  }, { passive: false });
  canvas.onkeydown = event => {
    const seen = nodes.filter(node => node.shown), now = seen.indexOf(over);
    if (event.key === "ArrowRight" || event.key === "ArrowDown") tell(seen[(now + 1) % seen.length]);
    else if (event.key === "ArrowLeft" || event.key === "ArrowUp") tell(seen[(now - 1 + seen.length) % seen.length]);
    else if (event.key === "+" || event.key === "-") zoom(event.key === "+" ? 1.2 : 1 / 1.2, canvas.clientWidth / 2, canvas.clientHeight / 2);
    else if (event.key === "Enter" && over) location.href = new URL(over.url, base);
    else return;
    event.preventDefault();
  };
  new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
  window.addEventListener("resize", () => { fit(); draw(); });
  begin();
};
