/* Draws the map of records (graph-data.js) on a canvas: the most cited and what cites them, around one record, all, or
   along the time. */
"use strict";
window.kbDrawGraph = (box, data, base) => {
  const kb = window.kb, words = data.words;
  const KINDS = ["decision", "constraint", "interface", "pitfall", "pattern", "preference", "checklist", "domain-note"];
  const COLOURS = ["#1f77b4", "#d62728", "#8c564b", "#e0861a", "#2ca02c", "#9467bd", "#0f9fb0", "#7f7f7f"];
  const LINKS = { supersedes: "#d62728", amends: "#e0861a", cites: "#5a8fd6", path: "#9a9a9a88" };
  const STEPS = 260, NEAR = 60, HIT = 12, FEW = 40, ENOUGH = 3, OVERVIEW = 400, MOST = 90, RING = 44, HUBS = 12, TITLE = 34, ROW = 22, HEAD = 48;
  const nodes = data.nodes.map(([id, title, kind, scope, status, date, url], n) =>
    ({ n, id, title, kind, scope, status, date, url, x: 0, y: 0, degree: 0, near: new Set(), shown: true, ring: 0 }));
  const edges = data.edges.map(([from, to, what]) => ({ from: nodes[from], to: nodes[to], what }));
  for (const { from, to } of edges) { from.degree++; to.degree++; from.near.add(to); to.near.add(from); }
  const scopes = Object.keys(data.scopes), nameOf = node => `${node.scope.replace("project/", "")}:${node.id}`;
  const joined = nodes.filter(node => node.degree);
  const view = { x: 0, y: 0, zoom: 1 };
  const chosen = { layout: "", center: null, steps: 1, scope: "", kinds: new Set(Object.keys(data.kinds)), what: new Set(Object.keys(words.relations)), alone: false };
  let over = null, step = 0, moved = false, grouped = null;
  const isColumns = () => chosen.layout === "around" && chosen.steps === 1;
  const isStill = () => chosen.layout === "time" || chosen.layout === "hubs" || isColumns();

  // -- the few fields above the map, and the rest behind one
  const { make } = kb;
  const bar = make("div", { className: "kb-graph-bar" });
  const find = make("input", { type: "search", placeholder: words.find });
  find.setAttribute("aria-label", words.find);
  find.setAttribute("list", "kb-graph-records");
  const known = make("datalist", { id: "kb-graph-records" });
  find.oninput = () => {
    const line = kb.folded(find.value.trim()), exact = nodes.find(node => `${nameOf(node)} ${node.title}` === find.value);
    if (exact) { find.value = ""; center(exact); return; }
    const some = line.length > 1 ? nodes.filter(node => kb.folded(`${nameOf(node)} ${node.title}`).includes(line)).slice(0, 12) : [];
    known.replaceChildren(...some.map(node => make("option", { value: `${nameOf(node)} ${node.title}` })));
  };
  find.onchange = () => {
    const line = kb.folded(find.value.trim());
    const one = line && (nodes.find(node => kb.folded(node.id) === line || kb.folded(nameOf(node)) === line) || nodes.find(node => kb.folded(`${node.id} ${node.title}`).includes(line)));
    if (one) { find.value = ""; center(one); }
  };
  const layouts = { hubs: words.hubs, around: words.of, all: words.all, time: words.time };
  const buttons = Object.entries(layouts).map(([layout, label]) => {
    const button = make("button", { type: "button", textContent: label });
    button.dataset.layout = layout;
    button.onclick = () => (layout === "around" ? center(over || chosen.center || hub()) : arrange(layout));
    return button;
  });
  const steps = make("select", {}, ...[1, 2, 3].map(n => make("option", { value: n, textContent: `${words.steps}${kb.colon}${n}` })));
  steps.setAttribute("aria-label", words.steps);
  steps.onchange = () => { chosen.steps = Number(steps.value); begin(); };
  const more = make("details", {}, make("summary", { textContent: words.more }));
  if (scopes.length > 1) {
    const select = make("select", {}, make("option", { value: "", textContent: words.every }), ...scopes.map(scope => make("option", { value: scope, textContent: data.scopes[scope] })));
    select.setAttribute("aria-label", words.every);
    select.onchange = () => { chosen.scope = select.value; begin(); };
    more.append(select);
  }
  const tick = (isOn, set, label, colour, isLine = false) => {
    const input = make("input", { type: "checkbox", checked: isOn });
    input.onchange = () => { set(input.checked); begin(); };
    const sample = make("span", { className: isLine ? "kb-graph-line" : "kb-graph-colour", hidden: !colour });
    sample.style.background = colour;
    more.append(make("label", {}, input, sample, label));
  };
  const member = (set, key) => isOn => (isOn ? set.add(key) : set.delete(key));
  for (const [kind, label] of Object.entries(data.kinds)) tick(true, member(chosen.kinds, kind), label, colourOf(kind));
  for (const [what, label] of Object.entries(words.relations)) tick(true, member(chosen.what, what), label, LINKS[what], true);
  const lonely = nodes.length - joined.length;
  if (lonely) tick(false, isOn => { chosen.alone = isOn; }, `${words.alone} (${lonely})`, "");
  more.append(steps);
  bar.append(find, known, ...buttons, more);

  const canvas = make("canvas", { tabIndex: 0 });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${words.map}${kb.colon}${nodes.length}`);
  const panel = make("div", { className: "kb-panel", hidden: true });
  panel.setAttribute("aria-live", "polite");
  const said = make("p", { className: "kb-graph-said", textContent: words.hint });
  box.replaceChildren(bar, make("div", { className: "kb-stage" }, canvas, panel), said);

  function colourOf(kind) {
    const at = KINDS.indexOf(kind);
    return COLOURS[at < 0 ? COLOURS.length - 1 : at];
  }
  const isLive = node => node.status === "accepted" || node.status === "proposed";
  const hub = () => [...(joined.filter(isLive).length ? joined.filter(isLive) : nodes)].sort((a, b) => b.degree - a.degree)[0];

  /* The most cited records, each with what is joined to it and to no better joined one: clusters, by their scopes. */
  const LEAST = 2;
  const ties = edges.some(({ what }) => what !== "path") ? edges.filter(({ what }) => what !== "path") : edges;
  const tied = new Map(nodes.map(node => [node, new Set()]));
  for (const { from, to } of ties) { tied.get(from).add(to); tied.get(to).add(from); }
  function clusters(passes) {
    const { width, height } = canvas.getBoundingClientRect();
    const columns = Math.max(1, Math.round(width / (width < 500 ? 175 : 235))), rows = Math.max(2, Math.round(height / (width < 500 ? 130 : 165)));
    const counts = node => [...tied.get(node)].filter(passes).length;
    const order = nodes.filter(node => passes(node) && counts(node) >= LEAST).sort((a, b) => isLive(b) - isLive(a) || counts(b) - counts(a) || a.n - b.n);
    const heads = [];
    for (const node of order) {
      if (heads.length === columns * rows) break;
      // what is mostly joined to the same records as one that is shown says nothing new
      const own = [...tied.get(node)].filter(passes);
      if (!heads.some(head => tied.get(head).has(node) || own.filter(other => tied.get(head).has(other)).length > own.length / 2)) heads.push(node);
    }
    const groups = new Map(heads.map(head => [head, []])), most = width < 500 ? 7 : 9;
    const others = nodes.filter(node => passes(node) && !groups.has(node)).sort((a, b) => isLive(b) - isLive(a) || counts(b) - counts(a));
    for (const node of others) {
      const near = heads.filter(head => tied.get(head).has(node));
      const best = near.sort((a, b) => (b.scope === node.scope) - (a.scope === node.scope) || groups.get(a).length - groups.get(b).length)[0];
      if (best) groups.get(best).push(node);
    }
    const shown = [...groups].filter(([, own]) => own.length).map(([head, own]) => ({ head, own: own.slice(0, most), rest: Math.max(0, own.length - most) }));
    shown.sort((a, b) => scopes.indexOf(a.head.scope) - scopes.indexOf(b.head.scope) || counts(b.head) - counts(a.head));
    const across = Math.min(columns, shown.length) || 1;
    return { passes, shown, columns, wide: width / across, high: height / Math.ceil(shown.length / across) };
  }
  /* Over its middle stands a fan of what is joined to it; the title has the room below, an id the one outside its point. */
  function inClusters({ shown, columns, wide, high }) {
    shown.forEach(({ head, own }, place) => {
      head.x = (place % columns + 0.5) * wide;
      head.y = (Math.floor(place / columns) + 0.57) * high;
      own.forEach((node, n) => {
        const turn = Math.PI * (own.length > 1 ? 1 + n / (own.length - 1) : 1.5);
        node.x = head.x + Math.cos(turn) * Math.min(wide * 0.34, high * 0.7);
        node.y = head.y + Math.sin(turn) * high * 0.38;
      });
    });
  }

  // -- which points are seen, and where they stand
  function arrange(layout) {
    chosen.layout = layout;
    begin();
  }
  function center(node) {
    chosen.center = node;
    over = null;
    arrange("around");
    tell(node);
  }

  /* The address says what is shown, so that it can be handed on. */
  function remember() {
    const query = chosen.layout === "around" && chosen.center ? `?record=${encodeURIComponent(nameOf(chosen.center))}` : "";
    history.replaceState(null, "", `${location.pathname}${query}${chosen.layout === "time" ? "#time" : chosen.layout === "all" ? "#all" : ""}`);
  }

  function begin() {
    const passes = node => (!chosen.scope || node.scope === chosen.scope) && chosen.kinds.has(node.kind);
    const rings = chosen.layout === "around" ? around(passes) : null;
    grouped = chosen.layout === "hubs" ? { passes } : null;  // fit() fills it, for there is room for more or fewer
    for (const node of nodes) {
      node.shown = grouped ? passes(node) : rings ? rings.has(node) : passes(node) && (chosen.layout === "time" || node.degree > 0 || chosen.alone || nodes.length < 30);
      node.ring = rings?.get(node) || 0;
    }
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.layout === chosen.layout));
    steps.hidden = chosen.layout !== "around";
    remember();
    if (over && !over.shown) tell(null);
    step = 0;
    moved = false;
    if (chosen.layout === "time") alongTime();
    else if (!grouped && !isColumns()) rings ? inRings(rings) : scattered();
    fit();
    if (isStill()) draw(); else requestAnimationFrame(move);
  }

  /* The records so many steps away from the one in the middle, the nearest and the best joined first. */
  function around(passes) {
    const found = new Map([[chosen.center, 0]]);
    let edge = [chosen.center];
    for (let ring = 1; ring <= chosen.steps; ring++) {
      const next = new Set(edge.flatMap(node => [...node.near]).filter(node => !found.has(node) && passes(node) && linked(node, edge)));
      edge = [...next].sort((a, b) => weightOf(b, found) - weightOf(a, found) || b.degree - a.degree).slice(0, Math.min(RING, MOST - found.size));
      for (const node of edge) found.set(node, ring);
    }
    return found;
  }
  const WEIGHTS = { supersedes: 3, amends: 2, cites: 1, path: 0 };
  const weightOf = (node, found) => Math.max(0, ...edges.filter(({ from, to }) => from === node && found.has(to) || to === node && found.has(from)).map(({ what }) => WEIGHTS[what]));
  const linked = (node, others) => edges.some(({ from, to, what }) => chosen.what.has(what) && (from === node && others.includes(to) || to === node && others.includes(from)));

  function inRings(rings) {
    const inRing = new Map();
    for (const [node, ring] of rings) inRing.set(ring, [...(inRing.get(ring) || []), node]);
    for (const [ring, some] of inRing) some.forEach((node, n) => {
      const far = ring * Math.max(110, some.length * 9), turn = n / some.length * 2 * Math.PI + ring;
      const { width, height } = canvas.getBoundingClientRect(), slim = Math.sqrt(width / height);
      node.x = Math.cos(turn) * far * slim;
      node.y = Math.sin(turn) * far / slim;
    });
  }

  /* One step around a record: on its left what refers to it, on its right what it refers to, a row for each. */
  const columns = { left: [], right: [], rest: [0, 0] };
  function inColumns() {
    const { width, height } = canvas.getBoundingClientRect(), { center: middle } = chosen, sides = new Map();
    for (const { from, to, what } of edges) {
      const other = from === middle ? to : to === middle ? from : null;
      if (!other || !other.shown && !sides.has(other) && !columns.left.includes(other) && !columns.right.includes(other) || !chosen.what.has(what)) continue;
      const weight = WEIGHTS[what] + (from === middle ? 0.5 : 0);
      if (weight > (sides.get(other)?.weight ?? -1)) sides.set(other, { weight, isRight: from === middle });
    }
    const most = Math.max(1, Math.floor((height - HEAD - 16) / ROW)), away = width < 500 ? 44 : 76;
    const order = [...sides.keys()].sort((a, b) => sides.get(b).weight - sides.get(a).weight || isLive(b) - isLive(a) || b.degree - a.degree || a.n - b.n);
    for (const isRight of [false, true]) {
      const own = order.filter(node => sides.get(node).isRight === isRight), shown = own.slice(0, own.length > most ? most - 1 : most);
      columns[isRight ? "right" : "left"] = own;
      columns.rest[Number(isRight)] = own.length - shown.length;
      const gap = Math.min(ROW * 1.6, (height - HEAD - 16) / Math.max(1, shown.length + (own.length > shown.length ? 1 : 0)));
      const top = HEAD + (height - HEAD - 16 - gap * (shown.length + (own.length > shown.length ? 1 : 0))) / 2;
      own.forEach((node, n) => {
        node.shown = n < shown.length;
        node.x = width / 2 + (isRight ? away : -away);
        node.y = top + (n + 0.5) * gap;
      });
    }
    middle.x = width / 2;
    middle.y = HEAD + (height - HEAD - 16) / 2;
    Object.assign(view, { x: 0, y: 0, zoom: 1 });
  }

  /* Every scope has a place of its own, the larger ones more room; its records begin around it. */
  const homes = new Map();
  function scattered() {
    const seen = nodes.filter(node => node.shown);
    const groups = scopes.map(scope => seen.filter(node => node.scope === scope)).filter(some => some.length);
    groups.sort((a, b) => b.length - a.length);
    const wide = some => 22 * Math.sqrt(some.length) + 40, round = groups.slice(1).reduce((sum, some) => sum + 2 * wide(some), 0);
    const far = groups.length > 1 ? Math.max(round / (2 * Math.PI), wide(groups[0]) + wide(groups[1])) : 0;
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
    for (const node of nodes) node.shown = node.shown && Boolean(node.date);
    const seen = nodes.filter(node => node.shown).sort((a, b) => a.date.localeCompare(b.date));
    const lanes = [...new Set(seen.map(node => node.scope))];
    const taken = new Map();
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
    if (isStill()) return;
    const seen = nodes.filter(node => node.shown), most = chosen.layout === "around" ? 140 : STEPS;
    const until = performance.now() + 12;
    do { push(seen, 1 - step / most); step++; } while (step < most && performance.now() < until);
    if (!moved && (step % 5 === 0 || step >= most)) fit();
    draw();
    if (step < most) requestAnimationFrame(move);
  }

  /* Points push those near them away and are pulled along their relations and, weakly, to the middle. */
  function push(seen, heat) {
    const isAround = chosen.layout === "around", room = isAround ? 190 : NEAR, force = isAround ? 420 : 40, rest = isAround ? 120 : 34;
    const cells = new Map(), middle = { x: 0, y: 0 }, wideness = Math.max(0.5, canvas.clientWidth / canvas.clientHeight);
    for (const node of seen) {
      node.cell = [Math.floor(node.x / room), Math.floor(node.y / room)];
      const key = node.cell.join();
      cells.has(key) ? cells.get(key).push(node) : cells.set(key, [node]);
      const home = isAround ? middle : homes.get(node.scope) || middle;
      node.dx = (home.x - node.x) * 0.008;
      node.dy = (home.y - node.y) * (isAround ? 0.008 * wideness : 0.008);
    }
    for (const node of seen) for (let a = -1; a < 2; a++) for (let b = -1; b < 2; b++) {
      for (const other of cells.get(`${node.cell[0] + a},${node.cell[1] + b}`) || []) {
        const x = node.x - other.x || (node.n - other.n) * 0.01, y = node.y - other.y, far = x * x + y * y + 0.01;
        if (other === node || far > room * room) continue;
        node.dx += x / far * force;
        node.dy += y / far * force;
      }
    }
    for (const { from, to, what } of edges) {
      if (!from.shown || !to.shown || !chosen.what.has(what)) continue;
      const x = to.x - from.x, y = to.y - from.y, far = Math.hypot(x, y) || 1, pull = (far - rest) * 0.03 / far;
      from.dx += x * pull; from.dy += y * pull; to.dx -= x * pull; to.dy -= y * pull;
    }
    for (const node of seen) {
      if (isAround && node === chosen.center) { node.x = node.y = 0; continue; }
      const far = Math.hypot(node.dx, node.dy) || 1, most = Math.min(far, 12 * heat + 0.5);
      node.x += node.dx / far * most;
      node.y += node.dy / far * most;
    }
  }

  function fit() {
    const seen = nodes.filter(node => node.shown);
    if (!seen.length) return;
    if (grouped) return fitClusters();
    if (isColumns()) return inColumns();
    const xs = seen.map(node => node.x), ys = seen.map(node => node.y);
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const { width, height } = canvas.getBoundingClientRect(), names = chosen.layout === "around" && width > 500 ? 170 : 60;
    view.zoom = Math.min(chosen.layout === "around" ? 1.6 : 3, (width - names - 30) / Math.max(right - left, 1), (height - 60) / Math.max(bottom - top, 1));
    view.x = (width - names) / 2 + 15 - (left + right) / 2 * view.zoom;
    view.y = height / 2 - (top + bottom) / 2 * view.zoom;
  }

  function fitClusters() {
    grouped = clusters(grouped.passes);
    const members = new Set(grouped.shown.flatMap(({ head, own }) => [head, ...own]));
    for (const node of nodes) node.shown = members.has(node);
    inClusters(grouped);
    Object.assign(view, { x: 0, y: 0, zoom: 1 });
  }

  // -- the picture
  const at = node => [node.x * view.zoom + view.x, node.y * view.zoom + view.y];
  const size = node => (node === chosen.center && chosen.layout === "around" ? 10 : isColumns() ? 6 : Math.min(9, 3.5 + Math.sqrt(node.degree)) * Math.min(1, 0.6 + view.zoom / 2));

  function draw() {
    const { width, height } = canvas.getBoundingClientRect(), dots = window.devicePixelRatio || 1;
    canvas.width = width * dots;
    canvas.height = height * dots;
    const pen = canvas.getContext("2d"), style = getComputedStyle(box), text = style.color, paper = getComputedStyle(document.body).backgroundColor;
    pen.scale(dots, dots);
    const isTime = chosen.layout === "time", focus = focused(), home = new Map();
    drawn = { labels: [], spots: [], lines: [], cells: new Map() };
    for (const { head, own } of grouped?.shown || []) for (const node of [head, ...own]) home.set(node, head);
    for (const { from, to, what } of edges) {
      const isAsked = !isTime || what === "supersedes" || what === "amends" || from === over || to === over;
      if (!from.shown || !to.shown || !chosen.what.has(what) || !isAsked) continue;
      // between clusters only what is looked at; the rest would be the ball again
      if (grouped && from !== over && to !== over && (home.get(from) !== home.get(to) || home.get(from) !== from && home.get(to) !== to)) continue;
      if (isColumns() && from !== over && to !== over && from !== chosen.center && to !== chosen.center) continue;
      const [[x, y], [u, v]] = [at(from), at(to)], isOwn = focus && (from === focus || to === focus);
      pen.strokeStyle = LINKS[what];
      pen.globalAlpha = focus && !isOwn ? 0.15 : chosen.layout === "all" && what === "cites" && !isOwn ? 0.4 : 0.9;
      pen.lineWidth = isOwn ? 2.2 : what === "supersedes" ? 1.6 : 0.8;
      pen.beginPath();
      pen.moveTo(x, y);
      if (isTime) pen.quadraticCurveTo((x + u) / 2, Math.min(y, v) - Math.abs(u - x) / 4 - 12, u, v);
      else if (isColumns() && x !== u) pen.bezierCurveTo((x + u) / 2, y, (x + u) / 2, v, u, v);
      else pen.lineTo(u, v);
      pen.stroke();
      if (!isTime && !isColumns()) drawn.lines.push([x, y, u, v]);
      if (isColumns()) arrow(pen, u + Math.sign(x - u) * 20, v, u, v, size(to));
      else if (!isTime && (what === "supersedes" || isOwn)) arrow(pen, x, y, u, v, size(to));
    }
    pen.globalAlpha = 1;
    const seen = nodes.filter(node => node.shown);
    const ink = { pen, text, paper, width, height };
    for (const node of seen) {
      const [x, y] = at(node);
      takePlace([x - size(node) - 1, y - size(node) - 1, x + size(node) + 1, y + size(node) + 1]);
      pen.globalAlpha = faded(node) ? 0.25 : 1;
      pen.beginPath();
      pen.arc(x, y, size(node), 0, 7);
      pen.fillStyle = isLive(node) ? colourOf(node.kind) : paper;
      pen.fill();
      pen.strokeStyle = node === over ? text : colourOf(node.kind);
      pen.lineWidth = node === over ? 3 : 1.5;
      pen.stroke();
    }
    pen.globalAlpha = 1;
    if (isTime) drawTimes(ink, seen);
    else if (chosen.layout === "all" && scopes.length > 1) drawScopes(ink, seen);
    if (grouped) drawClusters(ink, seen);
    else if (isColumns()) drawColumns(ink, seen);
    else drawNames(ink, seen);
    canvas.kbDrawn = drawn;
  }

  /* Words stand over no point and no other words, and on a ground of their own where lines run. */
  let drawn = { labels: [], spots: [], lines: [], cells: new Map() };
  const CELL = 32, NAMED = 500;
  function* cellsOf([left, top, right, bottom]) {
    for (let x = Math.floor(left / CELL); x <= right / CELL; x++) for (let y = Math.floor(top / CELL); y <= bottom / CELL; y++) yield `${x},${y}`;
  }
  function takePlace(spot) {
    drawn.spots.push(spot);
    for (const cell of cellsOf(spot)) drawn.cells.has(cell) ? drawn.cells.get(cell).push(spot) : drawn.cells.set(cell, [spot]);
  }
  const isOverPoint = area => [...cellsOf(area)].some(cell => drawn.cells.get(cell)?.some(spot => meet(area, spot)));
  const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
  function crosses([left, top, right, bottom], [x, y, u, v]) {
    let first = 0, last = 1;
    for (const [by, low, high] of [[u - x, left - x, right - x], [v - y, top - y, bottom - y]]) {
      if (!by && (low > 0 || high < 0)) return false;
      if (by) { first = Math.max(first, Math.min(low / by, high / by)); last = Math.min(last, Math.max(low / by, high / by)); }
    }
    return first < last;
  }
  /* Write *line* at x, y, the middle of its height; false where there is no room. *must*: even then. */
  function write({ pen, text, paper, width, height }, line, x, y, { align = "left", font = "12px", isFaint = false, must = false, hasNoLines = false } = {}) {
    pen.font = `${font} system-ui, sans-serif`;
    const wide = pen.measureText(line).width, high = Number.parseInt(font.match(/\d+(?=px)/)[0], 10) / 2 + 2;
    let left = align === "left" ? x : align === "right" ? x - wide : x - wide / 2;
    if (must) left = Math.min(Math.max(left, 4), Math.max(4, width - wide - 4));
    const area = [left - 2, y - high, left + wide + 2, y + high];
    const isFree = area[0] >= 0 && area[2] <= width && area[1] >= 0 && area[3] <= height
      && !drawn.labels.some(other => meet(area, other.area)) && !isOverPoint(area)
      && !(hasNoLines && drawn.lines.some(other => crosses(area, other)));
    if (!isFree && !must) return false;
    pen.fillStyle = paper;
    pen.globalAlpha = 0.85;
    pen.fillRect(area[0], area[1], area[2] - area[0], area[3] - area[1]);
    pen.globalAlpha = isFaint ? 0.75 : 1;
    pen.textBaseline = "middle";
    pen.fillStyle = text;
    pen.fillText(line, left, y);
    pen.textBaseline = "alphabetic";
    pen.globalAlpha = 1;
    drawn.labels.push({ line, area, must });
    return true;
  }
  /* *line* cut so that it takes no more than *room*. */
  function cut(pen, font, line, room) {
    pen.font = `${font} system-ui, sans-serif`;
    if (pen.measureText(line).width <= room) return line;
    let end = line.length;
    while (end > 1 && pen.measureText(`${line.slice(0, end).trimEnd()}…`).width > room) end--;
    return `${line.slice(0, end).trimEnd()}…`;
  }

  function drawColumns(ink, seen) {
    const { pen, width } = ink, { center: middle } = chosen;
    const title = cut(pen, "bold 13px", `${middle.id} ${middle.title}`, width - 16);
    write(ink, title, width / 2, 20, { align: "center", font: "bold 13px", must: true });
    for (const node of seen) {
      if (node === middle) continue;
      const isRight = node.x > middle.x, x = node.x + (isRight ? 1 : -1) * (size(node) + 6);
      const room = isRight ? width - x - 6 : x - 6;
      write(ink, cut(pen, node === over ? "bold 12px" : "12px", `${node.id} ${node.title}`, room), x, node.y, { align: isRight ? "left" : "right", font: node === over ? "bold 12px" : "12px", isFaint: faded(node) });
    }
    columns.rest.forEach((rest, side) => {
      const own = (side ? columns.right : columns.left).filter(node => node.shown), last = own.at(-1);
      if (rest && last) write(ink, `+${rest}`, last.x + (side ? 14 : -14), last.y + ROW, { align: side ? "left" : "right", isFaint: true });
    });
  }

  /* Below the middle of each cluster its title, on two lines at most, and how many more there are; ids beside the rest. */
  function drawClusters(ink, seen) {
    const { pen, width } = ink, room = grouped.wide * view.zoom - 16;
    const heads = new Set(grouped.shown.map(({ head }) => head));
    for (const { head, rest } of grouped.shown) {
      if (faded(head)) continue;
      const [x, y] = at(head);
      pen.font = "bold 12px system-ui, sans-serif";
      const lines = broken(pen, `${head.id} ${head.title}`, room), below = y + size(head) + 10;
      lines.forEach((line, n) => write(ink, line, x, below + n * 15, { align: "center", font: "bold 12px", must: width > 0 && view.zoom === 1 }));
      const about = [...(scopes.length > 1 ? [data.scopes[head.scope]] : []), ...(rest ? [`+${rest}`] : [])].join(" · ");
      if (about) write(ink, about, x, below + lines.length * 15 + 1, { align: "center", font: "10px", isFaint: true });
    }
    if (over && !heads.has(over)) {
      const [x, y] = at(over);
      write(ink, cut(pen, "12px", `${over.id} ${over.title}`, room * 1.4), x, y - size(over) - 12, { align: "center", must: true });
    }
    for (const { head, own } of grouped.shown) for (const node of own) {
      if (faded(node) || node === over) continue;
      const [[x, y], [u, v]] = [at(node), at(head)], turn = Math.atan2(y - v, x - u), far = size(node) + 4;
      const [across, up] = [Math.cos(turn), Math.sin(turn)], isAside = Math.abs(across) > 0.5;
      [0, 5, 10].some(more => write(ink, node.id, x + across * far, y + up * (far + 5 + more), { align: isAside ? (across > 0 ? "left" : "right") : "center", font: "10px", isFaint: true }));
    }
  }

  /* *line* on two lines of at most *room*; Chinese breaks anywhere. */
  function broken(pen, line, room) {
    const lines = [""];
    for (const piece of line.match(/[\u2e80-\uffef]|[^\s\u2e80-\uffef]+\s*|\s+/g) || []) {
      if (pen.measureText((lines.at(-1) + piece).trimEnd()).width <= room || !lines.at(-1)) lines[lines.length - 1] += piece;
      else if (lines.length < 2) lines.push(piece);
      else { lines[1] += `${piece} ${" ".repeat(200)}`; break; }
    }
    return lines.map(one => cut(pen, "bold 12px", one.endsWith("  ") ? `${one.trimEnd()}…` : one.trim(), room));
  }

  function arrow(pen, x, y, u, v, gap) {
    const turn = Math.atan2(v - y, u - x), tip = [u - Math.cos(turn) * (gap + 2), v - Math.sin(turn) * (gap + 2)];
    pen.fillStyle = pen.strokeStyle;
    pen.beginPath();
    pen.moveTo(...tip);
    for (const side of [0.45, -0.45]) pen.lineTo(tip[0] - Math.cos(turn + side) * 7, tip[1] - Math.sin(turn + side) * 7);
    pen.fill();
  }

  /* What is looked at stands out, but not the record around which all others stand. */
  const focused = () => (over && !(chosen.layout === "around" && over === chosen.center) ? over : null);
  const faded = node => { const focus = focused(); return focus && node !== focus && !focus.near.has(node); };

  /* Names stand where there is room for them: first the record in the middle, then what many others refer to. A hub whose
     surroundings are full has its title further out, at the end of a thin line. */
  const TURNS = [0, 6, 3, 9, 1, 5, 7, 11, 2, 4, 8, 10].map(n => n * Math.PI / 6);
  function drawNames(ink, seen) {
    const { pen, text } = ink;
    const rank = node => (node === over ? 1e6 : 0) + (node === chosen.center && chosen.layout === "around" ? 1e5 : 0) + (focused()?.near.has(node) ? 1e4 : 0) - node.ring * 100 + node.degree;
    const order = [...seen].sort((a, b) => rank(b) - rank(a)), hasNoLines = drawn.lines.length < 300;
    order.slice(0, NAMED).forEach((node, n) => {
      if (faded(node)) return;
      const [x, y] = at(node), gap = size(node) + 5;
      const isHub = n < HUBS && chosen.layout !== "time", isTitled = node === over || seen.length <= 60 || isHub || view.zoom > 2;
      const full = node.title.length > TITLE ? `${node.title.slice(0, TITLE)}…` : node.title;
      if (node === over) { write(ink, cut(pen, "bold 12px", `${node.id} ${node.title}`, ink.width * 0.7), x + gap, y, { font: "bold 12px", must: true }); return; }
      for (const isClear of hasNoLines ? [true, false] : [false]) for (const name of isTitled ? [`${node.id} ${full}`, node.id] : [node.id]) {
        if (write(ink, name, x + gap, y, { hasNoLines: isClear }) || write(ink, name, x - gap, y, { align: "right", hasNoLines: isClear })
          || write(ink, name, x, y - gap - 6, { align: "center", hasNoLines: isClear }) || write(ink, name, x, y + gap + 6, { align: "center", hasNoLines: isClear })) return;
      }
      if (isHub) for (const far of [40, 80, 130, 180, 240]) for (const turn of TURNS) {
        const [u, v] = [x + Math.cos(turn) * far, y + Math.sin(turn) * far];
        const isAside = Math.abs(Math.cos(turn)) > 0.1;
        if (!write(ink, `${node.id} ${full}`, u, v, { align: isAside ? (Math.cos(turn) < 0 ? "right" : "left") : "center" })) continue;
        pen.strokeStyle = text;
        pen.globalAlpha = 0.7;
        pen.lineWidth = 0.8;
        pen.beginPath();
        pen.moveTo(x, y);
        pen.lineTo(u, isAside ? v : v - Math.sign(Math.sin(turn)) * 8);
        pen.stroke();
        pen.globalAlpha = 1;
        return;
      }
    });
  }

  function drawScopes(ink, seen) {
    for (const scope of new Set(seen.map(node => node.scope))) {
      const own = seen.filter(node => node.scope === scope);
      const x = own.reduce((sum, node) => sum + node.x, 0) / own.length, y = Math.min(...own.map(node => node.y));
      write(ink, data.scopes[scope], x * view.zoom + view.x, Math.max(12, y * view.zoom + view.y - 22), { align: "center", font: "bold 15px", isFaint: true, must: true });
    }
  }

  function drawTimes(ink, seen) {
    const months = new Map(seen.map(node => [node.date.slice(0, 7), node]));
    let free = 0;
    for (const [month, node] of [...months].sort(([a], [b]) => a.localeCompare(b))) {
      const [x] = at(node);
      if (x < free || x < 0 || x + 46 > ink.width) continue;
      write(ink, month, x, ink.height - 10, { font: "11px" });
      free = x + 60;
    }
    const lanes = new Map(seen.map(node => [node.scope, node.lane]));
    for (const [scope, lane] of lanes) write(ink, data.scopes[scope], 6, lane * view.zoom + view.y + 12, { font: "bold 13px" });
  }

  // -- what the visitor does: a click opens the panel, from which one goes on
  function nearest(x, y) {
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
    const wasHidden = panel.hidden;
    panel.hidden = !node;
    if (node) {
      const close = make("button", { type: "button", className: "kb-close", textContent: "×", onclick: () => tell(null) });
      close.setAttribute("aria-label", words.close);
      const link = make("a", { href: new URL(node.url, base) }, kb.title(node.id, node.title));
      const own = edges.filter(({ from, to, what }) => (from === node || to === node) && chosen.what.has(what));
      const groups = new Map();
      for (const { from, to, what } of own) {
        const label = from === node ? words.relations[what] : words.inverse[what];
        groups.set(label, [...(groups.get(label) || []), from === node ? to : from]);
      }
      const lists = [...groups].flatMap(([label, some]) => [
        make("p", { className: "kb-faint", textContent: `${label} (${some.length})` }),
        make("ul", {}, ...some.slice(0, 8).map(other => make("li", {}, make("button", { type: "button", className: "kb-link", onclick: () => center(other) }, kb.title(other.id, other.title))))),
      ]);
      const facts = [data.kinds[node.kind], data.scopes[node.scope], node.date].filter(Boolean).join(" · ");
      const next = chosen.layout === "around" && chosen.center === node ? [] : [make("p", {}, make("button", { type: "button", className: "kb-button", textContent: words.center, onclick: () => center(node) }))];
      panel.replaceChildren(close, make("p", {}, make("strong", {}, link)),
        make("p", {}, kb.badge(node.status, data.statuses[node.status]), ` ${facts}`), ...next, ...lists);
      kb.spoken(panel);
    }
    if (wasHidden !== panel.hidden && !moved) fit();
    draw();
  }

  const held = new Map();
  let pinch = 0, far = 0;
  const place = event => { const { left, top } = canvas.getBoundingClientRect(); return [event.clientX - left, event.clientY - top]; };
  canvas.onpointerdown = event => { held.set(event.pointerId, place(event)); far = 0; pinch = 0; canvas.setPointerCapture(event.pointerId); };
  canvas.onpointermove = event => {
    const now = place(event);
    if (!held.has(event.pointerId)) { canvas.style.cursor = nearest(...now) ? "pointer" : "grab"; return; }
    const before = held.get(event.pointerId);
    held.set(event.pointerId, now);
    far += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
    if (far > 4) moved = true;
    if (held.size === 2) {
      const [[a, b], [c, d]] = [...held.values()], apart = Math.hypot(a - c, b - d);
      if (pinch) zoom(apart / pinch, (a + c) / 2, (b + d) / 2);
      pinch = apart;
      return;
    }
    view.x += now[0] - before[0];
    view.y += now[1] - before[1];
    draw();
  };
  canvas.onpointerup = canvas.onpointercancel = event => {
    const isClick = held.size === 1 && far <= 6 && event.type === "pointerup";
    held.delete(event.pointerId);
    pinch = 0;
    if (isClick) tell(nearest(...place(event)));
  };
  canvas.ondblclick = event => { const node = nearest(...place(event)); if (node) center(node); };
  const zoom = (by, x, y) => {
    moved = true;
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
    else if (event.key === " " && over) center(over);
    else if (event.key === "Escape" && over) tell(null);
    else return;
    event.preventDefault();
  };
  new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
  window.addEventListener("resize", () => { fit(); draw(); });

  const hasHubs = clusters(() => true).shown.length >= ENOUGH;
  buttons[0].hidden = !hasHubs;
  const asked = new URLSearchParams(location.search).get("record") || "";
  const wanted = nodes.find(node => nameOf(node) === asked || `${node.scope}:${node.id}` === asked) || nodes.find(node => node.id === asked);
  if (wanted) center(wanted);
  else if (location.hash === "#time") arrange("time");
  // a few fit as they are; of more the most cited show what there is, where there are such
  else if (joined.length > FEW && hasHubs && location.hash !== "#all") arrange("hubs");
  else if (joined.length > OVERVIEW && location.hash !== "#all") center(hub());
  else arrange("all");
};
