/* The wiki's search, in the place of the theme's worker.

   It looks for the words themselves, in every page, instead of for what a segmenter made of them: a Chinese word of one
   or two characters is found wherever it stands, nothing else is, and no index has to be built in the browser first.
   The theme talks to it in four messages: SETUP → READY, QUERY → RESULT. Read from the disk (file:), where a browser
   starts no workers, the same code answers inside the page. */
"use strict";
(() => {
  const SETUP = 0, READY = 1, QUERY = 2, RESULT = 3;
  const PAGES = 500;      // pages in one answer
  const SNIPPET = 160;    // characters of text around the first match
  const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", "#x27": "'" };
  const HAN = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]+/gu;
  const LETTER = /[\p{L}\p{N}]/u;
  let pages = [];

  const plain = html => (html || "")
    .replace(/<[^>]*>/g, " ")
    .replace(/&(amp|lt|gt|quot|#39|#x27);/g, (_, name) => ENTITIES[name])
    .replace(/\u200b/g, "")
    .replace(/\s+/g, " ")
    .trim();
  const escaped = text => text.replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
  const folded = text => text.toLowerCase();

  function setup(docs) {
    const byPage = new Map();
    for (const doc of docs) {
      const [page, anchor] = doc.location.split("#");
      const part = { location: doc.location, title: plain(doc.title), text: plain(doc.text) };
      part.foldedTitle = folded(part.title);
      part.foldedText = folded(part.text);
      if (!byPage.has(page)) byPage.set(page, []);
      anchor === undefined ? byPage.get(page).unshift(part) : byPage.get(page).push(part);
    }
    pages = [...byPage.values()];
  }

  /* "a phrase" -not word → [{words, excluded}] ; where scripts meet, a word ends. */
  function termsOf(query) {
    const terms = [];
    for (const [, minus, phrase, word] of query.normalize("NFC").matchAll(/([-+]?)(?:"([^"]+)"|([^\s"]+))/gu)) {
      const parts = phrase === undefined ? word.split(/(?<=[\p{sc=Han}])(?=[\w])|(?<=[\w])(?=[\p{sc=Han}])/u) : [phrase];
      for (const part of parts) {
        const words = folded(part).replace(/^[*\s]+|[*\s]+$/g, "");
        if (LETTER.test(words)) terms.push({ words, excluded: minus === "-" });
      }
    }
    return terms;
  }

  /* How well *words* stand in *text*: a whole word 3, the beginning of one 2, inside another 0.5; 0 without. */
  function quality(text, words) {
    let best = 0;
    for (let at = text.indexOf(words); at >= 0 && best < 3; at = text.indexOf(words, at + 1)) {
      const han = HAN.test(words[0]);
      HAN.lastIndex = 0;
      const opens = han || at === 0 || !LETTER.test(text[at - 1]);
      const closes = han || !LETTER.test(text[at + words.length] || " ");
      best = Math.max(best, opens ? (closes ? 3 : 2) : 0.5);
    }
    return best;
  }

  function count(text, words) {
    let found = 0;
    for (let at = text.indexOf(words); at >= 0 && found < 8; at = text.indexOf(words, at + words.length)) found++;
    return found;
  }

  const partScore = (part, words) =>
    4 * quality(part.foldedTitle, words) + quality(part.foldedText, words) + Math.log1p(count(part.foldedText, words));

  function scored(parts, terms) {
    const whole = words => parts.some(p => p.foldedTitle.includes(words) || p.foldedText.includes(words));
    if (terms.some(term => term.excluded && whole(term.words))) return null;
    const wanted = terms.filter(term => !term.excluded);
    const met = wanted.filter(term => whole(term.words));
    if (!met.length) return null;
    const scores = parts.map(part => met.reduce((sum, { words }) => sum + partScore(part, words), 0));
    const score = scores[0] * 2 + Math.max(...scores);
    return { parts, scores, score, missing: wanted.length - met.length, wanted, met };
  }

  /* Runs of three and more Chinese characters that stand nowhere as a whole, as their pairs. */
  const loosened = terms => terms.flatMap(term => {
    const letters = [...term.words];
    if (term.excluded || letters.length < 3 || !new RegExp(`^${HAN.source}$`, "u").test(term.words)) return [term];
    return letters.slice(1).map((letter, n) => ({ words: letters[n] + letter, excluded: false }));
  });

  function search(query) {
    const terms = termsOf(query);
    if (!terms.some(term => !term.excluded)) return [];
    const all = asked => pages.map(parts => scored(parts, asked)).filter(Boolean);
    let found = all(terms).filter(page => !page.missing);
    if (!found.length) found = all(loosened(terms)).filter(page => page.missing <= page.wanted.length / 2);
    found.sort((a, b) => a.missing - b.missing || b.score - a.score);
    return found.slice(0, PAGES).map(shown);
  }

  function marked(text, met) {
    const words = met.map(term => term.words.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
    const pieces = text.split(new RegExp(`(${words.join("|")})`, "giu"));
    return pieces.map((piece, n) => (n % 2 ? `<mark data-md-highlight>${escaped(piece)}</mark>` : escaped(piece))).join("");
  }

  function snippet(part, met) {
    const places = met.map(term => part.foldedText.indexOf(term.words)).filter(at => at >= 0);
    const start = Math.max(0, Math.min(...(places.length ? places : [0])) - SNIPPET / 4);
    const cut = part.text.slice(start, start + SNIPPET);
    if (!cut) return "";
    return `<p>${start > 0 ? "…" : ""}${marked(cut, met)}${start + SNIPPET < part.text.length ? "…" : ""}</p>`;
  }

  /* The theme shows the parts whose score reaches that of the first one, and folds the others away. */
  function shown({ parts, scores, score, wanted, met }) {
    const terms = Object.fromEntries(wanted.map(term => [term.words, met.includes(term)]));
    const best = Math.max(0, ...scores.slice(1));
    const inText = met.some(({ words }) => parts[0].foldedText.includes(words));
    return parts
      .map((part, n) => ({ part, hit: scores[n], score: n === 0 || (!inText && scores[n] === best) ? score : score / 2 }))
      .filter(({ hit }, n) => n === 0 || hit > 0)
      .map(({ part, score }) => ({
        location: part.location, title: marked(part.title, met), text: snippet(part, met), score, terms,
      }));
  }

  function answer({ type, data }) {
    if (type === SETUP) {
      setup(data.docs);
      return { type: READY };
    }
    if (type === QUERY) return { type: RESULT, data: { items: search(data) } };
    throw new TypeError("unknown message");
  }

  if (typeof document === "undefined") {
    addEventListener("message", event => postMessage(answer(event.data)));
  } else if (location.protocol === "file:") {
    window.Worker = class extends EventTarget {
      postMessage(message) {
        setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data: answer(message) })));
      }
      terminate() {}
    };
  }
})();
