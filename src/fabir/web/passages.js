// Windows of a passage, as fabir.answer.passages makes them.
import { divide } from "./lines.js";
import { count, placeWords } from "./units.js";

const WINDOW = 400, STRIDE = 300; // words

/**
 * The windows of a passage: {words, starts, ends, lines} each.
 *
 * `lines` has the number of the line or cell in which each word stands, -1 for a mark that a model
 * reads between two; it is undefined if there is one line.
 */
export function windowsOf(passage) {
  const { text, breaks, marks } = divide(passage);
  const { words, starts, ends } = placeWords(text);
  const marked = new Set(marks);
  const lineOf = (start) => (marked.has(start) ? -1 : count(breaks, (each) => each < start));
  const lines = breaks.length ? starts.map(lineOf) : undefined;
  return ranges(words.length).map((range) => ({
    words: words.slice(...range),
    starts: starts.slice(...range),
    ends: ends.slice(...range),
    lines: lines?.slice(...range),
  }));
}

/** Half-open ranges of words. The last one ends with the text, and has the full size if it can. */
function ranges(length) {
  if (!length) return [];
  const last = Math.max(length - WINDOW, 0), starts = [];
  for (let start = 0; start < last; start += STRIDE) starts.push(start);
  return [...starts, last].map((start) => [start, Math.min(start + WINDOW, length)]);
}
