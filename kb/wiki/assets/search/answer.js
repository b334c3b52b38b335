/* The wiki's search, in the place of the theme's worker.

   The theme talks to it in four messages: SETUP → READY, QUERY → RESULT. Read from the disk (file:), where a browser
   starts no workers, the same code answers inside the page. */

const SETUP = 0, READY = 1, QUERY = 2, RESULT = 3;
const PAUSE = 30;           // milliseconds without another key
const SNIPPET = 160;        // characters of text around the matches
const FIELDS = {
  kind: "kind", 类型: "kind", status: "status", 状态: "status",
  scope: "scope", project: "scope", 范围: "scope", 项目: "scope", tag: "tag", 标签: "tag",
};

const NAMED = /^(?:[\w.-]+:)?[A-Z]{1,2}\d{3,}$/i;
const escaped = text => text.replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);

/* kind:decision #tag "a phrase" -not words → what to ask, what must and must not be there. */
function read(line) {
  const found = { words: [], phrases: [], not: [], filters: [] };
  for (const [, minus, phrase, word] of line.normalize("NFC").matchAll(/([-+]?)(?:"([^"]*)"|([^\s"]+))/gu)) {
    const said = phrase ?? word;
    const field = phrase === undefined && /^(\p{L}+)[:：](.+)$/u.exec(said);
    if (field && FIELDS[field[1].toLowerCase()]) found.filters.push([FIELDS[field[1].toLowerCase()], folded(field[2])]);
    else if (phrase === undefined && /^[#＃]./.test(said)) found.filters.push(["tag", folded(said.slice(1))]);
    else if (!runs(said).length) continue;
    else if (minus === "-") found.not.push(said);
    else {
      found.words.push(said);
      if (phrase !== undefined) found.phrases.push(folded(phrase).trim());
    }
  }
  return found;
}

/* What describes a wanted page by its number: the columns of the index, and the lists of tags and of words with a minus. */
async function wantedBy(shelf, { filters, not }) {
  const tests = [];
  for (const field of ["kind", "status", "scope"]) {
    const values = filters.filter(([name]) => name === field).map(([, value]) => value);
    if (!values.length) continue;
    const { names } = shelf.start[field], valueAt = shelf.fields[field];
    const allowed = new Set(names.flatMap((words, n) => (words.some(w => values.includes(folded(w))) ? [n] : [])));
    tests.push(n => allowed.has(valueAt(n)));
  }
  for (const [, tag] of filters.filter(([name]) => name === "tag")) {
    const entry = await shelf.entry(`#${tag}`);
    const pages = new Set(entry ? shelf.list(`#${tag}`, entry).pages : []);
    tests.push(n => pages.has(n));
  }
  for (const words of not) {
    const pages = (await allOf(shelf, words)) || new Set();
    tests.push(n => !pages.has(n));
  }
  return n => tests.every(test => test(n));
}

/* A run of Chinese, words that touch, and what is in quotes have to stand so in the text, as far as it is here. */
function heldBy({ words, phrases }) {
  const touching = words.filter(word => runs(word).length > 1 || [...(runs(word)[0]?.[0] || "")].length > 2);
  const patterns = touching.map(word => {
    const parts = runs(word).map(([run, unspaced]) => (unspaced || runs(word).length > 1 ? run.toLowerCase() : ""));
    return new RegExp(parts.map(part => part.replace(/[_]/g, "_?")).join("[\\W_]*"), "u");
  });
  return page => page.isCut || (patterns.every(p => p.test(page.all)) && phrases.every(p => page.all.includes(p)));
}

/* Pages with what was asked, best first: by their titles to *tell*, as soon as that is known, and then with their texts. */
async function search(shelf, line, goesOn, tell) {
  const asked = read(line);
  if (!asked.words.length && !asked.filters.length) return [];
  await shelf.begin();
  const isWanted = await wantedBy(shelf, asked);
  const scopes = asked.filters.filter(([name]) => name === "scope").map(([, value]) => value);
  const scope = scopes.length === 1 && scopes[0] !== "global" ? `project/${scopes[0]}` : "global";
  const listed = async (isFirst, open) => {
    const order = asked.words.length
      ? await answers(shelf, asked.words.join(" "), { isWanted, holds: heldBy(asked), scope, isFirst })
      : newest(shelf, isWanted);
    const found = goesOn() ? await order(open) : [];
    const strict = asked.phrases.length ? found.filter(hit => hit.whole) : found;
    return (await behindSuccessors(strict, open)).map(hit => [hit.page, asked]);
  };
  // whether a page holds a phrase, only its text says
  if (tell && !asked.phrases.length) tell(await listed(true, n => shelf.title(n)));
  return goesOn() ? listed(false, n => shelf.page(n)) : [];
}

function newest(shelf, isWanted) {
  const found = [];
  for (let n = shelf.start.total - 1; n >= 0 && found.length < READ; n--) if (isWanted(n)) found.push(n);
  return async open => {
    const hits = await Promise.all(found.map(async n => ({ n, page: await open(n), whole: true })));
    return hits.sort((a, b) => b.page.month - a.page.month);
  };
}

/* A superseded record stands behind the one that took its place, unless it was asked for by its id. */
async function behindSuccessors(hits, open) {
  const given = new Set(), out = [];
  for (const hit of hits) {
    const newer = await Promise.all(hit.page.over.map(async n => hits.find(other => other.n === n) || { n, page: await open(n) }));
    for (const one of hit.named ? [hit, ...newer] : [...newer, hit]) if (!given.has(one.n)) { given.add(one.n); out.push(one); }
  }
  return out;
}

/* -- what the theme shows ------------------------------------------------------------------------- */

/* What is marked in titles and texts: words at their beginnings, Chinese anywhere; never what any question has. */
function patternOf(words, lists) {
  const telling = words.filter(word => tells(word, lists));
  const needles = [...new Set([...telling.flatMap(word => [word, ...runs(word).map(([run]) => run)]), ...lists.subjects(words.join(" "))])];
  const sorted = needles.filter(needle => needle && tells(needle, lists)).sort((a, b) => b.length - a.length);
  const safe = sorted.map(n => (n[0] < FIRST_CJK ? "(?<![\\p{L}\\p{N}])" : "") + n.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  return safe.length ? new RegExp(`(${safe.join("|")})`, "giu") : null;
}

/* Whether a word says what is asked for: no function word, no word that any question has. */
const tells = (word, lists) => lists.subjects(word).length > 0 || /[\d_:/.-]/.test(word) || (word[0] >= FIRST_CJK && lists.pieces(word).length > 0);

function marked(text, pattern) {
  if (!pattern) return escaped(text);
  return text.split(pattern).map((piece, n) => (n % 2 ? `<mark data-md-highlight>${escaped(piece)}</mark>` : escaped(piece))).join("");
}

/* A title with its code as code. */
const titled = (title, pattern) => title.split(/`+([^`]+)`+/).map((piece, n) => (n % 2 ? `<code>${marked(piece, pattern)}</code>` : marked(piece, pattern))).join("");

/* The window of the text that holds most of the matches. */
function snippet(text, pattern) {
  const at = pattern ? [...text.matchAll(pattern)].slice(0, 20).map(m => m.index) : [];
  const held = first => at.filter(a => a >= first && a <= first + SNIPPET * 0.75).length;
  const first = at.reduce((best, a) => (held(a) > held(best) ? a : best), at[0] || 0);
  const start = Math.max(0, Math.min(first - SNIPPET / 6, text.length - SNIPPET));
  const cut = text.slice(start, start + SNIPPET);
  return `${start > 0 ? "…" : ""}${marked(cut, pattern)}${start + SNIPPET < text.length ? "…" : ""}`;
}

/* Two lines for each page: its title, and under it its status, what it is, and where the text answers. */
function shown(found, lists) {
  return found.map(([page, { words }], n) => {
    const pattern = words.length ? patternOf(words, lists) : null;
    const holds = word => page.all.includes(folded(word)) || runs(word).every(([run]) => page.all.includes(stem(folded(run))));
    const [said, ...facts] = page.facts;
    const badge = page.id ? `<span class="kb-status kb-${escaped(page.known)}">${escaped(said)}</span> ` : "";
    const about = [...facts, ...(page.text || !page.isRead ? [""] : [])].map(escaped).join(" · ");
    const text = page.text ? snippet(page.text, pattern) : page.isRead ? "" : "…";
    // what a text that is not here yet lacks is not known
    const lacks = page.isRead ? words.filter(word => tells(word, lists) && !NAMED.test(word)) : [];
    return [{
      location: page.url,
      title: `${page.id ? `<span class="kb-id">${marked(page.id, pattern)}</span> ` : ""}${titled(page.title, pattern)}`,
      text: `<p class="kb-found">${badge}<span>${about}</span>${text && `<span class="kb-said">${text}</span>`}</p>`,
      score: 1000 - n,
      terms: Object.fromEntries(lacks.map(word => [word, holds(word)])),
      id: page.id, plain: page.title, status: page.known, scope: page.scope,
    }];
  });
}

function makeAnswer(fetched) {
  const shelf = new Shelf(fetched);
  const show = found => (found.length ? shown(found, shelf.words) : []);
  const answer = async (line, goesOn = () => true, tell = null) => show(await search(shelf, line, goesOn, tell && (found => tell(show(found)))));
  return Object.assign(answer, { prepare: () => shelf.begin() });
}

/* Parts are scripts, `kbFound("name", value)`, since a page opened from the disk may load nothing else. */
const valueOf = script => JSON.parse(script.slice(script.indexOf(",") + 1, script.lastIndexOf(")")));

function begin(port, fetched) {
  const answer = makeAnswer(fetched);
  let latest = 0;
  return async ({ type, data }) => {
    if (type === SETUP) {
      answer.prepare().catch(error => console.error(error));
      return port({ type: READY });
    }
    if (type !== QUERY) throw new TypeError("unknown message");
    const mine = ++latest;
    /* Who types on is not asking yet. */
    await new Promise(done => setTimeout(done, PAUSE));
    if (mine !== latest) return;
    const goesOn = () => mine === latest;
    const post = items => goesOn() && port({ type: RESULT, data: { items } });
    post(await answer(data, goesOn, items => items.length && post(items)).catch(error => (console.error(error), [])));
  };
}

if (typeof module !== "undefined") module.exports = { makeAnswer, valueOf };
else if (typeof document === "undefined") {
  const top = new URL("../../../search/kb/", location.href);
  const told = begin(postMessage, async name => {
    const response = await fetch(new URL(`${name}.js`, top));
    if (!response.ok) throw new Error(`${response.status} ${name}`);
    return valueOf(await response.text());
  });
  addEventListener("message", event => told(event.data));
} else window.kbBegin = begin;
