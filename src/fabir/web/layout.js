// What a passage's layout says of where an answer stands, as fabir.answer.layout has it.
import { GAP, SPACE, STOP_WORDS, WORD } from "./characters.js";
import { FILLED, TRAILING, unwrap } from "./lines.js";

const OF_ROW = 1.7, OF_LINE = 0.45, OF_COLUMN = 1.15; // added to logits at most
const BEGINNING = 5; // letters of a word that count
const SHORTEST = 3; // letters of a column's short name
const BLOCK = /(?:[^\n]+(?:\n|$))+/gu; // lines without an empty one between
const LINE = new RegExp(`(?<![^\\n])${FILLED}`, "gu");
const CELL_END = new RegExp(`\\t|(?<=[^${SPACE}])[${GAP}]{3,}(?=[^${SPACE}])`, "gu");
const LABELLED = new RegExp(
  `^[${SPACE}]*([^${SPACE}:][^:\\n]{0,40}?):[${GAP}]+(?=[^${SPACE}])`,
  "u",
);
const MONTH = "(?<month>0?[1-9]|1[0-2])", DAY = "(?<day>0?[1-9]|[12][0-9]|3[01])";
const DATES = [ // as fabir.text.dates has them
  new RegExp(`(?<![0-9])[0-9]{4}([-/])${MONTH}\\1${DAY}(?![0-9])`, "gu"),
  new RegExp(`(?<![0-9.])${DAY}\\.${MONTH}\\.[0-9]{4}(?![0-9])`, "gu"),
];
const MONTHS = [
  ..."January February March April May June July August September".split(" "),
  ..."October November December".split(" "),
];
const LEADING = new RegExp(`^[${SPACE}]+`, "u");
const WORDS = new RegExp(`[${WORD}]+`, "gu");
const STOPPED = new Set(STOP_WORDS);

/** The rows of a passage, and its pieces {start, end, row, name}: cells, or lines of no table. */
class Layout {
  pieces = [];
  rows = []; // {words, weight}

  add(text, cells, weight) {
    for (const { start, end, name } of cells) {
      this.pieces.push({ start, end, row: this.rows.length, name: wordsOf(name) });
    }
    const row = cells.map(({ start, end }) => text.slice(start, end)).join("\n");
    const words = wordsOf(nameMonths(row));
    this.rows.push({ words, weight });
  }

  /** The number of the piece in which each word begins, -1 for none. */
  place(starts) {
    let next = 0;
    return starts.map((start) => {
      while (next < this.pieces.length && this.pieces[next].start <= start) next++;
      return next && start < this.pieces[next - 1].end ? next - 1 : -1;
    });
  }

  /** What is added to the logits of each piece's words; the last number is 0, for words of none. */
  support(question) {
    const asked = wordsOf(nameMonths(question)), counts = new Map();
    const shared = this.rows.map(({ words }) => [...asked].filter((word) => words.has(word)));
    for (const word of shared.flat()) counts.set(word, (counts.get(word) ?? 0) + 1);
    const rarity = (word) => Math.log((shared.length + 1) / counts.get(word));
    const sum = (words) => [...words].reduce((total, word) => total + rarity(word), 0);
    const whole = shared.length > 1 ? sum(counts.keys()) : Infinity;
    const ofRows = this.rows.map(({ weight }, i) =>
      shared[i].length ? (weight * sum(shared[i])) / whole : 0,
    );
    const short = [...asked].flatMap((word) => beginnings([...word]));
    const names = new Set([...asked, ...short]);
    const ofPieces = this.pieces.map(({ row, name }) => {
      const named = [...name].filter((word) => names.has(word)).length;
      return ofRows[row] + (OF_COLUMN * named) / Math.max(name.size, 1);
    });
    return Float32Array.from([...ofPieces, 0]);
  }
}

/** What short names of columns a word of the question may have: "lat" is "latitude". */
function beginnings(letters) {
  const lengths = letters.map((_, i) => i).filter((length) => length >= SHORTEST);
  return lengths.map((length) => letters.slice(0, length).join(""));
}

/** The layout of a passage; undefined if it is one line. */
export function findLayout(text) {
  if (!text.includes("\n")) return undefined;
  const layout = new Layout(), unwrapped = unwrap(text);
  for (const { index, 0: block } of text.matchAll(BLOCK)) {
    const lines = linesOf(block, index);
    const table = aligned(text, lines) ?? labelled(text, lines);
    if (table) {
      for (const cells of table) layout.add(text, cells, OF_ROW);
    } else {
      const whole = unwrapped.slice(index, index + block.length);
      for (const line of linesOf(whole, index)) layout.add(text, [{ ...line, name: "" }], OF_LINE);
    }
  }
  return layout.pieces.length ? layout : undefined;
}

/** {start, end} of the lines of a text that begins at `index`; blank ones are none. */
function linesOf(text, index) {
  return [...text.matchAll(LINE)].map((line) => ({
    start: index + line.index,
    end: index + line.index + line[0].length,
  }));
}

/** The rows of a table below the names of its columns; undefined if the lines are no table. */
function aligned(text, lines) {
  const [head, ...rest] = lines.map((line) => split(text, line));
  if (!rest.length || head.length < 2) return undefined;
  const names = head.map(({ start, end }) => text.slice(start, end));
  const fitting = rest.filter((row) => row.length === names.length).length;
  if (2 * fitting < rest.length) return undefined;
  const named = (row) => (place, i) =>
    ({ ...place, name: row.length === names.length ? names[i] : "" });
  return rest.map((row) => row.map(named(row)).filter(({ start, end }) => start < end));
}

/** {start, end} of the cells of a line, empty ones between tabs too. */
function split(text, { start, end }) {
  const gaps = [...text.slice(start, end).matchAll(CELL_END)];
  const begins = [start, ...gaps.map((gap) => start + gap.index + gap[0].length)];
  const ends = [...gaps.map((gap) => start + gap.index), end];
  return begins.map((begin, i) => {
    const cell = text.slice(begin, ends[i]);
    const stop = begin + cell.replace(TRAILING, "").length;
    return { start: Math.min(stop, begin + (LEADING.exec(cell)?.[0].length ?? 0)), end: stop };
  });
}

/** One row of lines with a name and a value each; undefined if most lines have no name. */
function labelled(text, lines) {
  const cells = lines.flatMap(({ start, end }) => {
    const label = LABELLED.exec(text.slice(start, end));
    return label ? [{ start: start + label[0].length, end, name: label[1] }] : [];
  });
  const different = new Set(cells.map(({ name }) => name)).size === cells.length;
  return 2 * cells.length > lines.length && different ? [cells] : undefined;
}

/** The text, and behind each date the name of its month, and its day without a 0 before it. */
function nameMonths(text) {
  const named = (date, ...found) => {
    const { month, day } = found.at(-1);
    return `${date} ${MONTHS[month - 1]} ${Number(day)} `;
  };
  return DATES.reduce((dated, pattern) => dated.replace(pattern, named), text);
}

/** The beginnings of a text's words with content. */
function wordsOf(text) {
  const lower = text.replace(/(?<=[a-z])(?=[A-Z])/gu, " ").toLowerCase();
  const words = (lower.match(WORDS) ?? []).flatMap((word) => word.split("_"));
  const kept = words.filter((word) => word && !STOPPED.has(word));
  return new Set(kept.map((word) => [...word].slice(0, BEGINNING).join("")));
}
