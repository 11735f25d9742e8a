// Windows of a passage, as fabir.answer.passages makes them.
import { PUNCTUATION } from "./characters.js";
import { findLayout } from "./layout.js";
import { divide } from "./lines.js";
import { count, isBlank, placeWords } from "./units.js";

const WINDOW = 400, STRIDE = 300; // words
const PUNCTUATED = new RegExp(`^[${PUNCTUATION}]+$`, "u");

/**
 * The windows of a passage: {words, starts, ends, lines, punctuation, layout, pieces} each.
 *
 * `lines` has the number of the line or cell in which each word stands, -1 for a mark that a model
 * reads between two; it is undefined if there is one line. `punctuation` has whether the least
 * answer with a word is punctuation alone; it is undefined if this holds for all words
 * of the passage or for none. `layout` is that of the passage, and `pieces` has the number of the
 * piece of it in which each word stands, -1 for none; both are undefined if it is one line.
 */
export function windowsOf(passage) {
  if (isBlank(passage)) return [];
  const { text, breaks, marks } = divide(passage);
  const { words, starts, ends } = placeWords(passage, text);
  const marked = new Set(marks);
  const lineOf = (start) => (marked.has(start) ? -1 : count(breaks, (each) => each < start));
  const lines = breaks.length ? starts.map(lineOf) : undefined;
  const marksAlone = [];
  starts.forEach((start, i) => // words of one unit, which may be long, have the same place
    marksAlone.push(
      start === starts[i - 1] ? marksAlone[i - 1] : PUNCTUATED.test(text.slice(start, ends[i])),
    ),
  );
  const punctuation = new Set(marksAlone).size > 1 ? marksAlone : undefined;
  const layout = findLayout(passage), pieces = layout?.place(starts);
  return ranges(words.length).map((range) => ({
    words: words.slice(...range),
    starts: starts.slice(...range),
    ends: ends.slice(...range),
    lines: lines?.slice(...range),
    punctuation: punctuation?.slice(...range),
    layout,
    pieces: pieces?.slice(...range),
  }));
}

/** Half-open ranges of words. The last one ends with the text, and has the full size if it can. */
function ranges(length) {
  if (!length) return [];
  const last = Math.max(length - WINDOW, 0), starts = [];
  for (let start = 0; start < last; start += STRIDE) starts.push(start);
  return [...starts, last].map((start) => [start, Math.min(start + WINDOW, length)]);
}
