// The words of a text, as fabir.text.tokens finds them. Offsets are those of JavaScript's strings.
import { DIGIT, JOINING, LETTER, SPACE, WORD } from "./characters.js";

// \b of all scripts.
export const BORDER = `(?:(?<=[${WORD}])(?![${WORD}])|(?<![${WORD}])(?=[${WORD}]))`;
// The order matters.
const WORDS = new RegExp(
  [
    "[A-Za-z]+(?=[ ,;:)])", // most words; no later pattern would split them differently
    "(?:[A-Z]\\.){2,}", // U.S.
    `[A-Za-z]+(?=n['’]t${BORDER})`, // do, of don't
    `n['’]t${BORDER}`,
    `[${LETTER}]+(?:[${JOINING}][${LETTER}]*)*`, // a word, without digits
    `[${DIGIT}]{1,3}(?:,[${DIGIT}]{3})+(?:\\.[${DIGIT}]+)?(?![${DIGIT}])`, // 1,000 and 1,234.5
    `[${DIGIT}]+(?:\\.[${DIGIT}]+)?`, // 3.5
    `(?<=[${WORD}])['’](?:s|re|ve|ll|d|m)${BORDER}`,
    `[^${SPACE}][${JOINING}]*`, // any other character is a word
  ].join("|"),
  "gu",
);

/** {words, starts, ends}: text.slice(starts[i], ends[i]) is words[i]. */
export function tokenise(text) {
  const words = [], starts = [], ends = [];
  for (const match of text.matchAll(WORDS)) {
    words.push(match[0]);
    starts.push(match.index);
    ends.push(match.index + match[0].length);
  }
  return { words, starts, ends };
}
