/* Words of two languages, cut and weighed as `kb search` does it (kb/text.py, kb/reading). The lists come with the index. */

const FIRST_CJK = "\u2e80";
const MAX_TERMS = 16;     // terms a question is about
const MAX_ASKED = 48;     // terms by which pages are ranked
const ACROSS = 0.3;       // a pair of Chinese characters that reaches over a function word
const CHARACTER = 0.4;    // a single one of several
const PART = 0.7;         // a part of a name in code
const RUN = /((?:(?=[\u2e80-\u{10ffff}])[\p{L}\p{N}])+)|((?:(?![\u2e80-\u{10ffff}])[\p{L}\p{N}])+(?:_(?:(?![\u2e80-\u{10ffff}])[\p{L}\p{N}])+)*)/gu;
const HUMP = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_/;
const STEMS = [
  [4, ["ations", "ation", "ating", "ated", "ates", "ate", "ings", "ing", "ions", "ion", "ers"]],
  [3, ["ies", "ied", "es", "ed", "er", "s", "e", "y"]],
];
const LETTER = /[\p{L}\p{N}]/u;
const isLetter = c => c !== undefined && c < FIRST_CJK && LETTER.test(c);

const folded = text => text.normalize("NFKC").toLowerCase();

/* The words of a text in order: [word, whether it is an unspaced run]. */
const runs = text => [...text.normalize("NFKC").matchAll(RUN)].map(m => (m[1] ? [m[1], true] : [m[2], false]));

function wordTerms(word) {
  const parts = word.split(HUMP).filter(Boolean).map(part => part.toLowerCase());
  return parts.length < 2 ? [word.toLowerCase()] : [word.toLowerCase().replaceAll("_", ""), ...parts];
}

function stem(word) {
  for (const [left, endings] of STEMS)
    for (const ending of endings)
      if (word.endsWith(ending) && word.length - ending.length >= left && !(left === 3 && word.endsWith("ss")))
        return word.slice(0, -ending.length);
  return word;
}

const pairs = letters => letters.slice(1).map((letter, n) => letters[n] + letter);

function rankedTerms(text) {
  return runs(text).flatMap(([run, unspaced]) => {
    if (!unspaced) return wordTerms(run).map(stem);
    const letters = [...run];
    return [...pairs(letters), ...letters];
  });
}

/* What the words of a question say, cut with the lists of function words that the index brings. */
class Wording {
  constructor(lists) {
    const sets = ["function_en", "function_zh", "stop_en", "stop_zh", "kept_zh", "particles_zh", "leading_zh", "trailing_zh", "endings_zh"];
    for (const name of sets) this[name] = new Set(lists[name]);
    this.synonyms = null; // a file of its own, which no first answer needs
  }

  /* The terms that rank, with what each counts. */
  asked(query) {
    const weights = new Map(), idle = new Map();  // idle: words that any question has
    const isIdle = term => this.stop_zh.has(term) || this.particles_zh.has(term);
    const ask = (term, weight) => {
      const among = weight === CHARACTER || weight === ACROSS ? (isIdle(term) ? idle : weights) : weights;
      among.set(term, Math.max(weight, among.get(term) || 0));
    };
    for (const [run, unspaced] of runs(query)) {
      if (!unspaced) {
        wordTerms(run).forEach((word, at) => this.function_en.has(word) || ask(stem(word), at ? PART : 1));
        continue;
      }
      const letters = [...run];
      const inside = new Set(this.pieces(run).flatMap(piece => pairs([...piece])));
      for (const pair of pairs(letters)) ask(pair, inside.has(pair) ? 1 : ACROSS);
      for (const letter of letters) if (!this.function_zh.has(letter)) ask(letter, letters.length === 1 ? 1 : CHARACTER);
    }
    return new Map([...(weights.size ? weights : idle)].sort((a, b) => b[1] - a[1]).slice(0, MAX_ASKED));
  }

  /* An unspaced run without its function words and the words any task has. */
  pieces(run) {
    const letters = [...run], found = [];
    let start = 0, at = 0;
    while (at < letters.length) {
      if (this.kept_zh.has(letters.slice(at, at + 2).join(""))) { at += 2; continue; }
      const size = [4, 3, 2, 1].find(n => this.stop_zh.has(letters.slice(at, at + n).join(""))) || 0;
      if (size) {
        found.push(letters.slice(start, at).join(""));
        start = at + size;
      }
      at += size || 1;
    }
    return [...found, letters.slice(start).join("")].map(piece => this.trimmed(piece)).filter(Boolean);
  }

  trimmed(piece) {
    if (piece.length < 3 || piece.length % 2 === 0) return piece;
    if (this.leading_zh.has(piece[0]) && !this.kept_zh.has(piece.slice(0, 2))) return piece.slice(1);
    return this.trailing_zh.has(piece.at(-1)) ? piece.slice(0, -1) : piece;
  }

  cut(piece) {
    const words = [];
    for (let at = 0; at < piece.length;) {
      const rest = piece.length - at;
      const closes = rest > 4 && this.endings_zh.has(piece[at + 2]) && !"和与".includes(piece[at + 1]);
      const size = rest === 3 || closes ? 3 : 2;
      words.push(piece.slice(at, at + size));
      at += size;
    }
    if (words.length > 1 && words.at(-1).length === 1) words.splice(-2, 2, words.at(-2) + words.at(-1));
    return words;
  }

  isMeaningful(term) {
    return !this.stop_en.has(term) && term.length > (/^\d+$/.test(term) ? 2 : 1);
  }

  /* The meaningful terms of a text, those that look rarest first. */
  subjects(text) {
    const looks = new Map();
    const see = (term, look) => looks.set(term, Math.max(look, looks.get(term) || 0));
    for (const [run, unspaced] of runs(text)) {
      if (unspaced) {
        for (const piece of this.pieces(run)) {
          const begins = new Set();
          let at = 0;
          for (const word of this.cut(piece)) { begins.add(at); at += word.length; }
          for (let i = 0; i < piece.length - 1; i++) see(piece.slice(i, i + 2), begins.has(i) ? 8 : 4);
        }
        continue;
      }
      const [whole, ...parts] = wordTerms(run);
      if (this.isMeaningful(whole)) see(whole, whole.length + (isIdentifier(run) ? 6 : 0));
      for (const part of parts) if (this.isMeaningful(part) && part.length > 2) see(part, part.length);
    }
    return [...looks].sort((a, b) => b[1] - a[1]).slice(0, MAX_TERMS).map(([term]) => term);
  }

  /* The terms that say what words of the question say. */
  others(query) {
    const line = folded(query).split(/\s+/).join(" ");
    const own = new Set(rankedTerms(line));
    const found = [];
    for (const group of this.synonyms) {
      if (!group.some(word => standsIn(word, line))) continue;
      for (const word of group) {
        const terms = rankedTerms(word);
        if (!terms.every(term => own.has(term))) found.push(...terms.filter(term => term.length > 1 || word.length === 1));
      }
    }
    return found;
  }
}

const isIdentifier = word => word.length > 2 && !/^\d+$/.test(word) && (wordTerms(word).length > 1 || /\d/.test(word));

/* A spaced word stands as a word or as its plural; a Chinese one anywhere. */
function standsIn(word, line) {
  for (let at = line.indexOf(word); at >= 0; at = line.indexOf(word, at + 1)) {
    if (word[0] < FIRST_CJK && isLetter(line[at - 1])) continue;
    const rest = line.slice(at + word.length, at + word.length + 3);
    if (word.at(-1) >= FIRST_CJK || !isLetter(rest[0]) || ["s", "es"].some(e => rest.startsWith(e) && !isLetter(rest[e.length])))
      return true;
  }
  return false;
}
