// Where a text is divided, as fabir.text.lines tells: at ends of sentences and lines, but not where
// text is wrapped.
import { ANY_LETTER, DIGIT, GAP, SPACE, WORD } from "./characters.js";

const NARROW = 30; // characters of the longest line below which lines are not wrapped
export const FILLED = `[${GAP}]*[^${SPACE}][^\\n]*`; // a line that is not blank
const BLOCK = new RegExp(`(?<![^\\n])${FILLED}(?:\\n${FILLED})+`, "gu");
const LINE = /[^\n]+/gu;
const FIRST_WORD = new RegExp(`^[${SPACE}]*([^${SPACE}]+)`, "u");
const BREAK = new RegExp(
  `(?<=[^${SPACE}])(?:(?<paragraph>[${GAP}]*\\n[${GAP}]*\\n[${SPACE}]*)` +
    `|(?<line>[${GAP}]*\\n[${SPACE}]*)|(?<gap>\\t[${SPACE}]*|[${GAP}]{3,}))(?=[^${SPACE}])`,
  "gu",
);
const MARKS = { paragraph: ".", line: ";", gap: "," };
// With a comma in its middle it is one number.
const GLUED = new RegExp(`(?<=[${DIGIT}])[${SPACE}](?=[${DIGIT}])`, "uy");
const INITIALS = /^[A-Z]\.[A-Z]$/u; // with a stop behind them they are one word
const HYPHENATED = new RegExp(`[${ANY_LETTER}][-\\u2010]$`, "u");
const CONTINUED = new RegExp(`^[${SPACE}]*(?![A-Z])[${ANY_LETTER}]`, "u");
// The gap before a cell of a table in plain text.
const CELL = new RegExp(`(?<=[^${SPACE}])[${GAP}]{2,}(?=[^${SPACE}])`, "gu");
const OPTION = // of a command, but no dash before a word
  "-[A-Za-z](?![A-Za-z0-9_\\-])|--[A-Za-z][A-Za-z0-9_\\-]*" +
  `(?:[,=]|[${SPACE}]{2}|[${SPACE}]*$|[${SPACE}][<\\[])`;
// What a new item or a cell of a table begins with.
const BEGINNING = new RegExp(
  `^[${SPACE}]*(?:[-*+•–][${SPACE}]|${OPTION}|\\(?[${WORD}]{1,3}[.)][${SPACE}]|[^\\n:]{1,40}:[${SPACE}])`,
  "u",
);
// A first word that is hardly ever a name after an abbreviation, as the second one of "Inc. Foo" is.
const FIRST =
  "The|An|In|On|At|It|Its|He|His|She|Her|They|Their|We|Our|You|This|These|That|Those|There|But" +
  "|However|As|For|From|By|To|With|After|Before|During|When|While|Although|Though|Since|If|Some" +
  "|Most|Many|Each|Both|Other|Another|Such|Also";
// An end of a sentence that is no abbreviation: it may leave out some.
const SENTENCE = new RegExp(
  `[.!?](?:(?<!\\b[A-Z]\\.)(?<!vs\\.)(?<! v\\.)["'”’)\\]]*(?=[${SPACE}]+["“‘(\\[]*(?:${FIRST})[${SPACE},])` +
    `|(?<=[a-z]{4}\\.)["'”’)\\]]*(?=[${SPACE}]+["“‘(\\[]*[A-Z][A-Za-z]))`,
  "gu",
);
// What each entry of a log or a chat begins with: a date or a time.
const STAMP = new RegExp(
  `^[${SPACE}]*\\[?(?:[${DIGIT}]{1,4}[-/.][${DIGIT}]{1,2}[-/.][${DIGIT}]` +
    `|[A-Z][a-z]{2} +[${DIGIT}]{1,2} [${DIGIT}]|[${DIGIT}]{1,2}:[${DIGIT}]{2})`,
  "u",
);
const LEADING = new RegExp(`^[${SPACE}]+`, "u");
export const TRAILING = new RegExp(`(?<![${SPACE}])[${SPACE}]+$`, "u");

/** {text, breaks, marks}: the text with marks of punctuation where its layout divides it. */
export function divide(text) {
  const unwrapped = unwrap(text), marks = [], pieces = [];
  const ends = [...unwrapped.matchAll(SENTENCE)].map(({ index, 0: end }) => index + end.length);
  let end = 0;
  if (!/[\n\t]| {3}/.test(text)) return { text, breaks: ends, marks };
  for (const { index, 0: found, groups } of unwrapped.matchAll(BREAK)) {
    const kind = Object.keys(MARKS).find((name) => groups[name] !== undefined);
    // A gap may be a soft line end before an indented line.
    if (kind === "gap" && text.slice(index, index + found.length).includes("\n")) continue;
    ends.push(index);
    if (".!?;:,".includes(text[index - 1])) continue;
    marks.push(index);
    GLUED.lastIndex = index;
    const glued = GLUED.test(text) || INITIALS.test(text.slice(Math.max(0, index - 3), index));
    pieces.push(text.slice(end, index), glued ? ";" : MARKS[kind]);
    end = index + 1;
  }
  const breaks = [...new Set(ends)].sort((one, other) => one - other);
  return { text: pieces.join("") + text.slice(end), breaks, marks };
}

/** The text with spaces in place of the line ends of wrapped text. Its length stays the same. */
export function unwrap(text) {
  const pieces = [];
  let at = 0;
  for (const [start, end] of softEnds(text)) {
    pieces.push(text.slice(at, start), " ".repeat(end - start));
    at = end;
  }
  return pieces.join("") + text.slice(at);
}

function* softEnds(text) {
  for (const block of text.matchAll(BLOCK)) {
    const lines = [...block[0].matchAll(LINE)];
    const contents = lines.map((line) => line[0].replace(TRAILING, ""));
    const lengths = contents.map(size).sort((a, b) => a - b);
    // An address in a line may be longer than all others.
    const width = lengths[Math.floor((3 * lengths.length - 1) / 4)];
    for (let i = 0; i + 1 < lines.length; i++) {
      if (isWrapped(contents[i], lines[i + 1][0], width)) {
        yield [block.index + lines[i].index + contents[i].length, block.index + lines[i + 1].index];
      }
    }
  }
}

function isWrapped(line, following, width) {
  if (HYPHENATED.test(line) && CONTINUED.test(following)) return true;
  if (width < NARROW || /[.!?:;]$/.test(line) || BEGINNING.test(following)) return false;
  const columns = cells(line);
  if (columns && columns === cells(following)) return false; // rows of a table
  if (tabWithin(line) && tabWithin(following)) return false; // the same
  if (STAMP.test(line) && STAMP.test(following)) return false;
  const word = FIRST_WORD.exec(following);
  return !(word && size(line) + 1 + size(word[1]) <= width);
}

function tabWithin(line) {
  return line.replace(LEADING, "").replace(TRAILING, "").includes("\t");
}

/** Where the cells after the first begin. */
function cells(line) {
  const ends = [...line.matchAll(CELL)].map((gap) => gap.index + gap[0].length);
  return ends.map((end) => size(line.slice(0, end))).join();
}

/** How many characters a text has; a string's length counts halves of some. */
export function size(text) {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
