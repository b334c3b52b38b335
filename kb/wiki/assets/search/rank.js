/* What answers a question, in the order in which `kb search` has it (kb/search/retrieve.py, kb/search/rank.py). */

const READ = 10;            // pages whose text is looked at
const LEAST = 3;            // of those that hold some of what was asked
const CANDIDATES = 200;     // pages whose score is reckoned with every term
const ENOUGH = 12000;       // rows of lists that decide which these are
const WORDS = 2, SENTENCE = 6, FEW = 3;
const AT_ONCE = 8;          // terms whose lists are fetched before the first answer
const SYNONYM = 0.4, MISSPELLED = 0.7;
const CLOSE_WEIGHT = 0.2, TITLE_WEIGHT = 0.3, TELLING = 8;
const WIDTH = 60, OFTEN = 8;
const IN_TITLE = 0.5, AGED = 0.03;
const STANDING = { accepted: 1, proposed: 0.8 }, DEAD = 0.3, ELSEWHERE = 0.6;

/* -- which pages hold what was asked -------------------------------------------------------------- */

/* The terms that are to rank, the most telling first, with their lists as far as they are needed. */
async function knownTerms(shelf, query, isFirst) {
  const own = isFirst ? firstTerms(shelf, shelf.words.asked(query)) : shelf.words.asked(query);
  const wanted = new Map(own);
  if (!isFirst) shelf.words.synonyms ||= await shelf.part("synonyms");
  if (!isFirst) for (const term of shelf.words.others(query)) if (!own.has(term)) wanted.set(term, SYNONYM);
  const entries = await Promise.all([...wanted].map(async ([term, weight]) => [term, weight, await shelf.entry(term)]));
  const found = entries.filter(([, , entry]) => entry);
  const there = new Set(found.map(([term]) => term));
  for (const term of own.keys()) {
    if (there.has(term)) continue;
    const meant = (await shelf.spelledLike(term)).find(other => !there.has(other));
    if (meant) found.push([meant, MISSPELLED * own.get(term), await shelf.entry(meant)]);
  }
  return found
    .map(([term, weight, entry]) => {
      const worth = Math.round(SCALE * weight * shelf.rarity(entry[0]));
      return { term, entry, worth, frequency: entry[0], finds: ![CHARACTER, ACROSS].includes(own.get(term)) };
    })
    .sort((a, b) => b.worth - a.worth || (a.term < b.term ? -1 : 1));
}

/* Of the terms of a long question those that the fewest titles have: a list is a file, and a sentence asks for thirty. */
function firstTerms(shelf, terms) {
  if (terms.size <= AT_ONCE) return terms;
  const counted = [...terms].map(([term, weight]) => [term, weight, shelf.titlesWith(term)]).filter(([, , count]) => count);
  return new Map(counted.sort((a, b) => a[2] - b[2]).slice(0, AT_ONCE).map(([term, weight]) => [term, weight]));
}

function sums(shelf, terms, among) {
  const scores = new Map();
  for (const { term, entry, worth } of terms) {
    const { pages, weights } = shelf.list(term, entry);
    for (let i = 0; i < pages.length; i++)
      if (!among || among.has(pages[i])) scores.set(pages[i], (scores.get(pages[i]) || 0) + weights[i] * worth);
  }
  return scores;
}

/* What is no longer accepted stands behind what is: the columns of the index tell before any text is read. */
const bestOf = (scores, most, standing = () => 1) =>
  [...scores].map(([n, score]) => [n, score, score * standing(n)]).sort((a, b) => b[2] - a[2] || a[0] - b[0]).slice(0, most);

/* The pages for which the terms speak most: the rarest decide which these are. One character of a word does not find. */
function someOf(shelf, terms, isWanted, read, standing) {
  let rows = 0, deciding = 0;
  while (deciding < terms.length && (!deciding || rows + terms[deciding].frequency <= ENOUGH)) rows += terms[deciding++].frequency;
  const all = sums(shelf, terms.slice(0, deciding));
  const finding = terms.filter(({ finds }) => finds);
  if (finding.length) {
    const found = sums(shelf, finding.slice(0, deciding));
    for (const n of all.keys()) if (!found.has(n)) all.delete(n);
  }
  const scores = new Map(bestOf(new Map([...all].filter(([n]) => isWanted(n))), CANDIDATES));
  for (const [n, more] of sums(shelf, terms.slice(deciding), scores)) scores.set(n, scores.get(n) + more);
  return bestOf(scores, read, standing);
}

/* The pages that hold all that was asked: words as beginnings of words, unspaced runs pair by pair; null without any. */
async function allOf(shelf, query) {
  let found = null;
  const coming = [];
  for (const chunk of query.split(/\s+/)) {
    for (const [run, unspaced] of runs(chunk)) {
      const letters = [...run];
      if (unspaced) coming.push(...(letters.length > 1 ? pairs(letters) : letters).map(term => [term]));
      else {
        const word = run.toLowerCase();
        const isBeginning = word.length >= 3 && !/^\d+$/.test(word);
        coming.push(isBeginning ? shelf.beginning(wordTerms(run)[0]) : [stem(word)]);
      }
    }
  }
  const conditions = await Promise.all(coming);
  const entries = await Promise.all(conditions.map(terms => Promise.all(terms.map(term => shelf.entry(term)))));
  for (const [at, terms] of conditions.entries()) {
    const here = new Set();
    for (const [number, term] of terms.entries()) {
      const entry = entries[at][number];
      if (entry) for (const n of shelf.list(term, entry).pages) if (!found || found.has(n)) here.add(n);
    }
    found = here;
    if (!found.size) break;
  }
  return found;
}

/* -- what the texts add --------------------------------------------------------------------------- */

function placesOf(text, term) {
  const found = [];
  for (let at = text.indexOf(term); at >= 0 && found.length < OFTEN; at = text.indexOf(term, at + 1))
    if (term >= FIRST_CJK || at === 0 || !LETTER.test(text[at - 1])) found.push(at);
  return found;
}

/* The largest share of the terms' worth that stands within half a sentence. */
function closeness(text, terms) {
  const total = terms.reduce((sum, { worth }) => sum + worth, 0) || 1;
  const places = terms.flatMap(({ term, worth }) => placesOf(text, term).map(at => [at, term, worth])).sort((a, b) => a[0] - b[0]);
  const inside = new Map();
  let best = 0, now = 0, first = 0;
  for (const [at, term, worth] of places) {
    if (!inside.get(term)) now += worth;
    inside.set(term, (inside.get(term) || 0) + 1);
    for (; at - places[first][0] > WIDTH; first++) {
      const [, left, less] = places[first];
      inside.set(left, inside.get(left) - 1);
      if (!inside.get(left)) now -= less;
    }
    best = Math.max(best, now);
  }
  return best / total;
}

function grams(text) {
  const found = new Set();
  for (const [run] of runs(folded(text))) {
    const letters = [..." " + run + " "];
    for (const size of [3, 4]) for (let i = 0; i + size <= letters.length; i++) found.add(letters.slice(i, i + size).join(""));
  }
  return found;
}

function titleIn(title, asked) {
  const own = grams(title);
  return own.size ? [...own].filter(gram => asked.has(gram)).length / own.size : 0;
}

/* What the question is about: stems of its words, and its unspaced pieces. */
function about(words, query) {
  const kept = new Set(words.subjects(query));
  const stems = new Set(), pieces = new Set();
  for (const [run, unspaced] of runs(query)) {
    if (unspaced) words.pieces(run).filter(p => pairs([...p]).some(pair => kept.has(pair))).forEach(p => pieces.add(p));
    else wordTerms(run).filter(term => kept.has(term)).forEach(term => stems.add(stem(term)));
  }
  const named = [...query.matchAll(/(?<![\w.-])(?:([\w.-]{1,64}):)?([A-Z]{1,2}\d{3,})(?![\w-])/g)].map(m => [m[1] || "", m[2]]);
  const numbered = [...query.matchAll(/(?<![\w.-])(?:ADR|架构决策|决策记录)[-_ #]{0,2}0{0,6}([1-9]\d{0,6})(?!\w)/gi)];
  const alone = /^\s*#?0{0,6}([1-9]\d{0,6})\s*$/.exec(query);
  const numbers = [...numbered, ...(alone ? [alone] : [])].map(found => Number(found[1]));
  return { stems, pieces, named, numbers };
}

/* The share of what was asked that is in the title. */
function titleShare(title, { stems, pieces }) {
  const asked = stems.size + [...pieces].reduce((sum, piece) => sum + piece.length, 0);
  if (!asked) return 0;
  const spaced = runs(title).filter(([, unspaced]) => !unspaced).flatMap(([run]) => wordTerms(run).slice(1));
  const text = [folded(title), ...spaced].join(" ");
  const own = new Set((text.match(/[\p{L}\p{N}]+/gu) || []).flatMap(word => runs(word).map(([run]) => stem(run))));
  let present = [...stems].filter(word => own.has(word)).length;
  for (const part of shared(pieces, text)) present += part.length;
  return Math.min(present / asked, 1);
}

function shared(pieces, text) {
  const found = new Set();
  for (const piece of pieces) {
    for (let at = 0, end; at < piece.length - 1; at = Math.max(end, at + 1)) {
      for (end = at + 1; end < piece.length && text.includes(piece.slice(at, end + 1));) end++;
      if (end - at > 1) found.add(piece.slice(at, end));
    }
  }
  return found;
}

/* -- in order ------------------------------------------------------------------------------------- */

/* The pages *shown* {n, whole, score} with their texts, best first. */
function ranked(shown, query, shelf, scope) {
  const asked = about(shelf.words, query);
  const best = Math.max(0, ...shown.map(hit => hit.score));
  const newest = Math.max(0, ...shown.map(hit => hit.page.month));
  for (const hit of shown) {
    const { page } = hit;
    const near = page.scope === scope ? 1 : page.scope === "global" ? 0.9 : ELSEWHERE;
    const old = page.month && newest ? Math.min((newest - page.month) / 12, 1) : 0;
    hit.named = asked.numbers.includes(page.number) || asked.named.some(([project, id]) => id === page.id && (!project || page.scope.replace("project/", "") === project));
    hit.points = (0.1 + (best ? hit.score / best : 0)) * (1 + IN_TITLE * titleShare(page.title, asked))
      * near * (STANDING[page.status] ?? DEAD) * (1 - AGED * old);
  }
  const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  return shown.sort((a, b) => b.named - a.named || b.whole - a.whole || order(b.points.toFixed(9) - a.points.toFixed(9), 0)
    || order(a.page.scope, b.page.scope) || a.page.id.length - b.page.id.length || order(a.page.id, b.page.id));
}

/* Best first, what answers *query* among the pages that *isWanted* lets through and whose text *holds* what it must.

   That is a function: of how a page is opened. *isFirst*: what comes at once, without other words for what was asked. */
async function answers(shelf, query, { isWanted, holds, scope, isFirst }) {
  const isLong = isFirst && shelf.words.asked(query).size > AT_ONCE;
  const [terms, found] = await Promise.all([knownTerms(shelf, query, isFirst), isLong ? null : allOf(shelf, query)]);
  const said = shelf.words.subjects(query).length;
  const all = new Set([...(found || [])].filter(isWanted));
  const scores = sums(shelf, terms, all);
  for (const n of all) if (!scores.has(n)) scores.set(n, 0);
  const own = shelf.valuesOf("status"), places = shelf.valuesOf("scope");
  const standing = n => (STANDING[own(n)] ?? DEAD) * (!places(n) || places(n) === scope || places(n) === "global" ? 1 : ELSEWHERE);
  const whole = bestOf(scores, READ, standing);
  const most = Math.max(...whole.map(([, score]) => score), 0) || 1;
  const isRow = query.trim().split(/\s+/).length > 1 || terms.length > TELLING;
  const asked = grams(query);
  let some = null;
  return async open => {
    const opened = rows => Promise.all(rows.map(async ([n, score]) => ({ n, score, page: await open(n) })));
    let hits = (await opened(whole)).filter(({ page }) => holds(page));
    hits = hits.map((hit, at) => ({ ...hit, whole: true, score: hit.score / most + 0.1 / (1 + at) }));
    if (!(hits.length && (said < WORDS || (said < SENTENCE && hits.length >= FEW)))) {
      some ||= someOf(shelf, terms, n => isWanted(n) && !all.has(n), Math.max(READ - whole.length, LEAST), standing);
      const strongest = Math.max(most === 1 ? 0 : most, some[0]?.[1] || 0) || 1;
      hits.push(...(await opened(some)).map(hit => ({ ...hit, whole: false, score: hit.score / strongest })));
    }
    for (const hit of hits) {
      if (isRow) hit.score += CLOSE_WEIGHT * closeness(hit.page.folded, terms.slice(0, TELLING));
      hit.score += TITLE_WEIGHT * titleIn(hit.page.title, asked);
    }
    return ranked(hits, query, shelf, scope);
  };
}
