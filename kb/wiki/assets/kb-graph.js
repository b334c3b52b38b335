/* Draws the map of records (graph-data.js) on a canvas: the most cited and what cites them, around one record, all, or
   along the time. */
"use strict";
window.kbDrawGraph = (box, data, base) => {
  const kb = window.kb, words = data.words;
  const KINDS = ["decision", "constraint", "interface", "pitfall", "pattern", "preference", "checklist", "domain-note"];
  const COLOURS = ["#1f77b4", "#d62728", "#8c564b", "#e0861a", "#2ca02c", "#9467bd", "#0f9fb0", "#7f7f7f"];
  const LINKS = { supersedes: "#d62728", amends: "#e0861a", cites: "#5a8fd6", path: "#9a9a9a88" };
  const STEPS = 260, NEAR = 60, HIT = 12, FEW = 40, ENOUGH = 3, OVERVIEW = 400, MOST = 90, RING = 44, HUBS = 14, TITLE = 34;
  const nodes = data.nodes.map(([id, title, kind, scope, status, date, url], n) =>
    ({ n, id, title, kind, scope, status, date, url, x: 0, y: 0, degree: 0, near: new Set(), shown: true, ring: 0 }));
  const edges = data.edges.map(([from, to, what]) => ({ from: nodes[from], to: nodes[to], what }));
  for (const { from, to } of edges) { from.degree++; to.degree++; from.near.add(to); to.near.add(from); }
  const scopes = Object.keys(data.scopes), nameOf = node => `${node.scope.replace("project/", "")}:${node.id}`;
  const joined = nodes.filter(node => node.degree);
  const view = { x: 0, y: 0, zoom: 1 };
  const chosen = { layout: "", center: null, steps: 1, scope: "", kinds: new Set(Object.keys(data.kinds)), what: new Set(Object.keys(words.relations)), alone: false };
  let over = null, step = 0, moved = false, grouped = null;
  const isStill = () => chosen.layout === "time" || chosen.layout === "hubs";

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
  const steps = make("select", {}, ...[1, 2, 3].map(n => make("option", { value: n, textContent: `${words.steps}: ${n}` })));
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
  canvas.setAttribute("aria-label", `${words.map}: ${nodes.length}`);
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
  const LEAST = 2, CROWD = 9;
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
    const groups = new Map(heads.map(head => [head, []])), most = width < 500 ? 8 : 14;
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
  /* Over its middle stands a fan of what is joined to it, in two rows where that is much; the title has the room below. */
  function inClusters({ shown, columns, wide, high }) {
    shown.forEach(({ head, own }, place) => {
      head.x = (place % columns + 0.5) * wide;
      head.y = (Math.floor(place / columns) + 0.57) * high;
      own.forEach((node, n) => {
        const turn = Math.PI * (own.length > 1 ? 1 + n / (own.length - 1) : 1.5), far = own.length > CROWD && n % 2 ? 0.68 : 1;
        node.x = head.x + Math.cos(turn) * Math.min(wide * 0.38, high * 0.8) * far;
        node.y = head.y + Math.sin(turn) * high * 0.42 * far;
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
    else if (!grouped) rings ? inRings(rings) : scattered();
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
  const size = node => (node === chosen.center && chosen.layout === "around" ? 10 : Math.min(9, 3.5 + Math.sqrt(node.degree)) * Math.min(1, 0.6 + view.zoom / 2));

  function draw() {
    const { width, height } = canvas.getBoundingClientRect(), dots = window.devicePixelRatio || 1;
    canvas.width = width * dots;
    canvas.height = height * dots;
    const pen = canvas.getContext("2d"), style = getComputedStyle(box), text = style.color, paper = getComputedStyle(document.body).backgroundColor;
    pen.scale(dots, dots);
    const isTime = chosen.layout === "time", focus = focused(), home = new Map();
    for (const { head, own } of grouped?.shown || []) for (const node of [head, ...own]) home.set(node, head);
    for (const { from, to, what } of edges) {
      const isAsked = !isTime || what === "supersedes" || what === "amends" || from === over || to === over;
      if (!from.shown || !to.shown || !chosen.what.has(what) || !isAsked) continue;
      // between clusters only what is looked at; the rest would be the ball again
      if (grouped && from !== over && to !== over && (home.get(from) !== home.get(to) || home.get(from) !== from && home.get(to) !== to)) continue;
      const [[x, y], [u, v]] = [at(from), at(to)], isOwn = focus && (from === focus || to === focus);
      pen.strokeStyle = LINKS[what];
      pen.globalAlpha = focus && !isOwn ? 0.15 : chosen.layout === "all" && what === "cites" && !isOwn ? 0.4 : 0.9;
      pen.lineWidth = isOwn ? 2.2 : what === "supersedes" ? 1.6 : 0.8;
      pen.beginPath();
      pen.moveTo(x, y);
      isTime ? pen.quadraticCurveTo((x + u) / 2, Math.min(y, v) - Math.abs(u - x) / 4 - 12, u, v) : pen.lineTo(u, v);
      pen.stroke();
      if (!isTime && (what === "supersedes" || isOwn)) arrow(pen, x, y, u, v, size(to));
    }
    pen.globalAlpha = 1;
    const seen = nodes.filter(node => node.shown);
    if (isTime) drawTimes(pen, seen, width, height, text);
    else if (chosen.layout === "all" && scopes.length > 1) drawScopes(pen, seen, text);
    for (const node of seen) {
      const [x, y] = at(node);
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
    grouped ? drawClusters(pen, seen, text, paper) : drawNames(pen, seen, text, paper, width);
  }

  /* Below the middle of each cluster its title, on two lines at most, and how many more there are; ids beside the rest. */
  function drawClusters(pen, seen, text, paper) {
    const room = grouped.wide * view.zoom - 12;
    const write = (line, x, y, isFaint = false) => {
      pen.globalAlpha = isFaint ? 0.75 : 1;
      pen.strokeStyle = paper;
      pen.lineWidth = 4;
      pen.lineJoin = "round";
      pen.strokeText(line, x, y);
      pen.fillStyle = text;
      pen.fillText(line, x, y);
      pen.globalAlpha = 1;
    };
    pen.textAlign = "center";
    pen.font = "10px system-ui, sans-serif";
    const heads = new Set(grouped.shown.map(({ head }) => head));
    if (grouped.wide * view.zoom > 200) for (const node of seen) {
      const [x, y] = at(node);
      if (!heads.has(node) && !faded(node)) write(node.id, x, y - size(node) - 3, true);
    }
    for (const { head, rest } of grouped.shown) {
      if (faded(head)) continue;
      const [x, y] = at(head);
      pen.font = "bold 12px system-ui, sans-serif";
      const lines = broken(pen, `${head.id} ${head.title}`, room);
      lines.forEach((line, n) => write(line, x, y + size(head) + 14 + n * 14));
      pen.font = "10px system-ui, sans-serif";
      const about = [...(scopes.length > 1 ? [data.scopes[head.scope]] : []), ...(rest ? [`+${rest}`] : [])].join(" · ");
      if (about) write(about, x, y + size(head) + 14 + lines.length * 14, true);
    }
    if (over && !heads.has(over)) {
      const [x, y] = at(over);
      pen.font = "12px system-ui, sans-serif";
      write(broken(pen, `${over.id} ${over.title}`, room * 1.4)[0], Math.min(Math.max(x, room * 0.7), canvas.clientWidth - room * 0.7), y - size(over) - 4);
    }
    pen.textAlign = "start";
  }

  /* *line* on two lines of at most *room*; Chinese breaks anywhere. */
  function broken(pen, line, room) {
    const lines = [""];
    for (const piece of line.match(/[\u2e80-\uffef]|[^\s\u2e80-\uffef]+\s*|\s+/g) || []) {
      if (pen.measureText(lines.at(-1) + piece).width <= room || !lines.at(-1)) lines[lines.length - 1] += piece;
      else if (lines.length < 2) lines.push(piece);
      else { lines[1] += "…"; break; }
    }
    return lines.map(one => one.trim());
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

  /* Names stand where there is room for them: first the record in the middle, then what many others refer to. */
  function drawNames(pen, seen, text, paper, width) {
    const rank = node => (node === over ? 1e6 : 0) + (node === chosen.center && chosen.layout === "around" ? 1e5 : 0) + (focused()?.near.has(node) ? 1e4 : 0) - node.ring * 100 + node.degree;
    const order = [...seen].sort((a, b) => rank(b) - rank(a)), taken = [];
    const spots = seen.map(node => [...at(node), size(node)]);
    pen.font = "12px system-ui, sans-serif";
    pen.lineJoin = "round";
    order.forEach((node, n) => {
      if (faded(node)) return;
      const [x, y] = at(node), gap = size(node) + 4;
      const isHub = n < HUBS && chosen.layout !== "time", isTitled = node === over || seen.length <= 60 || isHub || view.zoom > 2;
      const full = node === over ? node.title : node.title.length > TITLE ? `${node.title.slice(0, TITLE)}…` : node.title;
      for (const name of isTitled ? [`${node.id} ${full}`, node.id] : [node.id]) {
        const wide = pen.measureText(name).width;
        for (const left of [x + gap, x - gap - wide]) {
          const area = [left - 2, y - 8, left + wide + 2, y + 8];
          const isFree = !taken.some(([a, b, c, d]) => area[0] < c && a < area[2] && area[1] < d && b < area[3])
            && (isHub || !spots.some(([u, v, r]) => (u !== x || v !== y) && u + r > area[0] && u - r < area[2] && v + r > area[1] && v - r < area[3]));
          if (!isFree && node !== over || (left < 0 || left + wide > width) && node !== over) continue;
          taken.push(area);
          pen.strokeStyle = paper;
          pen.lineWidth = 3;
          pen.strokeText(name, Math.max(2, left), y + 4);
          pen.fillStyle = text;
          pen.fillText(name, Math.max(2, left), y + 4);
          return;
        }
      }
    });
  }

  function drawScopes(pen, seen, text) {
    pen.font = "bold 15px system-ui, sans-serif";
    pen.fillStyle = text;
    pen.globalAlpha = 0.55;
    pen.textAlign = "center";
    for (const scope of new Set(seen.map(node => node.scope))) {
      const own = seen.filter(node => node.scope === scope);
      const x = own.reduce((sum, node) => sum + node.x, 0) / own.length, y = Math.min(...own.map(node => node.y));
      pen.fillText(data.scopes[scope], x * view.zoom + view.x, y * view.zoom + view.y - 12);
    }
    pen.textAlign = "start";
    pen.globalAlpha = 1;
  }

  function drawTimes(pen, seen, width, height, text) {
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = text;
    const months = new Map(seen.map(node => [node.date.slice(0, 7), node]));
    let free = 0;
    for (const [month, node] of [...months].sort(([a], [b]) => a.localeCompare(b))) {
      const [x] = at(node);
      if (x < free || x < 0 || x + 46 > width) continue;
      pen.fillText(month, x, height - 6);
      free = x + 60;
    }
    pen.font = "bold 13px system-ui, sans-serif";
    const lanes = new Map(seen.map(node => [node.scope, node.lane]));
    for (const [scope, lane] of lanes) pen.fillText(data.scopes[scope], 6, lane * view.zoom + view.y + 4);
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
