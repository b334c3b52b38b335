/* The index, of which only the parts are fetched that a question needs: lists of pages by the beginning of a term. */

const DIGITS = [...Array(95).keys()].map(n => String.fromCharCode(32 + n)).filter(c => !'"\\'.includes(c));
const VALUE = Object.fromEntries(DIGITS.map((c, n) => [c, n]));
const VALUE_OF = Uint8Array.from({ length: 128 }, (_, code) => VALUE[String.fromCharCode(code)] ?? 0);
const FULL = 92, HALF = 46, SCALE = 1000;

/* "gap gap … weight": pages in order, each with how much the term says there. */
function postings(written, count) {
  const pages = new Int32Array(count), weights = new Float64Array(count);
  for (let at = 0, page = -1, row = 0; row < count; row++) {
    let gap = 0, unit = 1, digit = VALUE_OF[written.charCodeAt(at++)];
    for (; digit >= HALF; digit = VALUE_OF[written.charCodeAt(at++)], unit *= HALF) gap += (digit - HALF) * unit;
    page += gap + digit * unit + 1;
    pages[row] = page;
    weights[row] = (VALUE_OF[written.charCodeAt(at++)] * SCALE) / FULL;
  }
  return { pages, weights };
}

/* Terms that begin alike are together: by three letters, or by one Chinese character. */
function bucketOf(term, buckets) {
  const letters = [...term];
  let sum = 2166136261;
  for (const byte of new TextEncoder().encode(letters.slice(0, letters[0] < FIRST_CJK ? 3 : 1).join("")))
    sum = Math.imul(sum ^ byte, 16777619) >>> 0;
  return sum % buckets;
}

class Shelf {
  /* *fetched* answers the name of a part with a promise of it. */
  constructor(fetched) {
    this.fetched = fetched;
    this.kept = new Map();
  }

  part(name) {
    if (!this.kept.has(name)) {
      const coming = this.fetched(name);
      this.kept.set(name, coming);
      coming.catch(() => this.kept.delete(name));
    }
    return this.kept.get(name);
  }

  async begin() {
    [this.start, this.titles] = await Promise.all([this.part("start"), this.part("titles")]);
    this.words ||= new Wording(this.start.words);
    this.fields ||= Object.fromEntries(["kind", "status", "scope"].map(field => [field, this.numbersOf(field)]));
    return this;
  }

  /* What the column of a field says of a page: the place of its value; that of a page that is no record is none. */
  numbersOf(field) {
    const { column, width } = this.start[field];
    return n => [...column.slice(width * n, width * (n + 1))].reduce((sum, c) => sum * DIGITS.length + VALUE[c], 0);
  }

  /* What the column of a field says of a page: "accepted", "project/shop"; nothing of a page that is no record. */
  valuesOf(field) {
    return n => this.start[field].raw[this.fields[field](n)] || "";
  }

  bucket(term) {
    return this.part(`t/${bucketOf(term, this.start.buckets)}`);
  }

  /* A page as the table of titles has it, without its text. */
  title(n) {
    const { folders, ending, rows } = this.titles, { start, fields } = this;
    const [id, title, date = "", folder = 0, tail = "", number = 0, over = []] = rows[n];
    const [kind, status, scope] = ["kind", "status", "scope"].map(field => start[field].raw[fields[field](n)] || "");
    const labels = ["status", "kind", "scope"].map(field => start[field].names[fields[field](n)]?.[1]);
    const month = /^\d{4}.\d\d/.test(date) ? Number(date.slice(0, 4)) * 12 + Number(date.slice(5, 7)) : 0;
    return {
      n, id, title, kind, status, month, over, number, scope: scope || "global", text: "", isCut: true, folded: "",
      url: folders[folder] + (tail || id + ending),
      facts: id ? [...labels, date].filter(Boolean) : [],
      head: id ? `[${id}] ${title}` : title,
      known: ["accepted", "proposed", "rejected", "deprecated", "superseded"].includes(status) ? status : "unknown",
      all: folded(id ? `[${id}] ${title}` : title),
    };
  }

  /* A page with its text. */
  async page(n) {
    const size = this.start.perText, page = this.title(n);
    const [text, isCut = 0] = (await this.part(`d/${Math.floor(n / size)}`))[n % size];
    const plain = folded(text);
    return { ...page, text, isCut: Boolean(isCut), isRead: true, folded: plain, all: `${page.all} ${plain}` };
  }

  /* Pages and weights of a term. */
  list(term, [count, written]) {
    this.lists ||= new Map();
    if (!this.lists.has(term)) this.lists.set(term, postings(written, count));
    return this.lists.get(term);
  }

  async entry(term) {
    const terms = await this.bucket(term);
    return Object.hasOwn(terms, term) ? terms[term] : null;
  }

  /* How many titles have *term* in them. */
  titlesWith(term) {
    this.lowered ||= this.titles.rows.map(([, title]) => folded(title));
    return this.lowered.reduce((sum, title) => sum + title.includes(term), 0);
  }

  rarity(frequency) {
    const total = this.start.total;
    return Math.log(1 + (Math.max(total - frequency, 0) + 0.5) / (frequency + 0.5));
  }

  /* The terms that stand for a word somebody is still typing: those it begins, and those whose forms it is. */
  async beginning(word) {
    const terms = await this.bucket(word);
    const isForm = term => word.startsWith(term) && STEMS.some(([left, endings]) =>
      term.length >= left && endings.some(ending => ending.startsWith(word.slice(term.length))));
    return Object.keys(terms).filter(term => term.startsWith(word) || isForm(term));
  }

  /* The words that somebody may have meant; the first three letters are taken to be right. */
  async spelledLike(word) {
    const most = word.length >= 7 ? 2 : 1;
    if (word.length < 4 || !/^[a-z]+$/.test(word)) return [];
    const near = Object.keys(await this.bucket(word))
      .filter(other => /^[a-z]{4,}$/.test(other) && Math.abs(other.length - word.length) <= most)
      .map(other => [slips(word, other), other]);
    return near.filter(([distance]) => distance <= most).sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1))
      .map(([, other]) => other).slice(0, 5);
  }
}

/* Letters changed, left out, added or exchanged with the next one. */
function slips(one, other) {
  const rows = [[...Array(other.length + 1).keys()]];
  for (let i = 1; i <= one.length; i++) {
    rows.push([i]);
    for (let j = 1; j <= other.length; j++) {
      const same = one[i - 1] === other[j - 1] ? 0 : 1;
      let least = Math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + same);
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) least = Math.min(least, rows[i - 2][j - 2] + 1);
      rows[i].push(least);
    }
  }
  return rows[one.length][other.length];
}
