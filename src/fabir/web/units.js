// What an answer never cuts, and what cannot be seen, as in fabir.text.units.
import { BLANK, DIGIT, SPACE, WORD } from "./characters.js";
import { BORDER, tokenise } from "./tokens.js";

const D = `[${DIGIT}]`;
const NUMBER = `(?:${[
  `${D}{1,2}(?:,${D}{2})+,${D}{3}(?:\\.${D}+)?`, // 12,34,567
  `${D}{1,3}(?:,${D}{3})+(?:\\.${D}+)?`, // 1,234,567.89
  `${D}{1,3}(?:\\.${D}{3})+,${D}+`, // 1.234.567,89
  `${D}{1,3}(?:['’]${D}{3})+(?:[.,]${D}+)?`, // 1'234'567
  `${D}{1,3}(?:[\\u00a0\\u2009\\u202f]${D}{3})+(?:[.,]${D}+)?`, // 1 234 567 with narrow spaces
  `${D}{1,2}(?: ${D}{3}){2}(?! ?${D})(?:[.,]${D}+)?`, // and with others, but no list of numbers
  `${D}+(?:\\.${D}+)+`, // 3.5, versions, dates such as 31.12.1999
  `${D}+(?:,${D}{1,2})?`, // 3,5
].join("|")})(?![.,]?${D})`;
const UNITS =
  "km²|km|cm|mm|m²|m³|m|kg|mg|g|ml|l|L|mph|kWh|kW|MWh|MW|GWh|GW|W|V|kHz|MHz|GHz|Hz|KB|MB|GB|TB|" +
  "°C|°F|ft|in|st|nd|rd|th|s|h|am|pm|k|K|M|bn|tn|x";
const UNIT = new RegExp(
  [
    `(?<![${WORD}:])${D}{1,2}:${D}{2}(?::${D}{2})?(?:[ap]m)?${BORDER}`, // 12:30
    `(?<![${WORD}\\-])${D}{4}-${D}{2}-${D}{2}${BORDER}`, // 2026-11-25
    `(?<![${WORD}/])${D}{1,4}/${D}{1,4}(?:/${D}{2,4})?${BORDER}`, // 3/4, 11/25/2026
    `[$€£¥₹](?:${NUMBER})(?:(?:[kKmMbBtT]|bn|tn|mn)${BORDER})?`, // $1.5m
    `(?:(?<![${WORD})\\]%.,–—\\-])[\\-−+±]|(?<![${WORD}.,'’–\\-]))` + // a sign, but no dash of a range
      `(?:${NUMBER})(?:(?:${UNITS})${BORDER}|[%‰°])?`,
  ].join("|"),
  "gu",
);
// Addresses, hosts and identifiers. Each begins where a word begins: the time is linear.
const NAME = new RegExp(
  [
    `(?<![${WORD}.+\\-])[${WORD}.+\\-]+@[${WORD}][${WORD}\\-]*(?:\\.[${WORD}][${WORD}\\-]*)+`,
    `(?:https?://|www\\.)[^${SPACE}<>"')\\]]*[^${SPACE}<>"')\\].,;:!?]`,
    `(?<![${WORD}.\\-])[a-z0-9\\-]+(?:\\.[a-z][a-z0-9\\-]*){2,}(?![${WORD}\\-])`,
    `(?<!(?!_)[${WORD}])(?:(?!_)[${WORD}])+(?:_+(?:(?!_)[${WORD}])+)+`,
    `(?<![^${SPACE}"'“‘(\`])\\.[a-z][${WORD}\\-]*(?:\\.[${WORD}\\-]+)*`, // .vimrc
  ].join("|"),
  "gu",
);
const OF_NAME = new RegExp(
  `[@_]|//|www\\.|\\.[a-z][a-z0-9\\-]*\\.[a-z]|(?<![^${SPACE}"'“‘(\`])\\.[a-z]`,
  "u",
);
// Where units with numbers are, but for a sign.
const DIGITS = new RegExp(`${D}(?:[^${SPACE}]|[ \\u00a0\\u2009\\u202f](?=${D}))*`, "gu");
const SKIN = "\\u{1f3fb}-\\u{1f3ff}";
const SIGN = `[^${SPACE}\\x00-\\x7f]`;
const EMOJI = new RegExp(
  [
    "[\\u{1f1e6}-\\u{1f1ff}]{2}", // a flag
    "\\u{1f3f4}[\\u{e0020}-\\u{e007f}]+", // Scotland's
    "[0-9#*]\\ufe0f?\\u20e3", // a key
    `${SIGN}[\\ufe0f${SKIN}]{0,2}(?:\\u200d(?![${WORD}])${SIGN}[\\ufe0f${SKIN}]{0,2})+`,
    `${SIGN}\\ufe0f?[${SKIN}]\\ufe0f?`, // with the colour of its skin
  ].join("|"),
  "gu",
);
const OF_EMOJI = new RegExp(
  `[\\u20e3\\u200d\\u{1f1e6}-\\u{1f1ff}${SKIN}\\u{e0020}-\\u{e007f}]`,
  "u",
);
// Control characters but white space, which divide words as a zero-width space does. Format
// characters but the two joiners and the tags of flags, which do not.
const CONTROLS = "\\x00-\\x08\\x0e-\\x1b\\x7f-\\x84\\x86-\\x9f";
const DIVIDING = new RegExp(`[${CONTROLS}\\u200b]`);
const INVISIBLE = new RegExp(
  `[${CONTROLS}` +
    "\\u00ad\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u180e\\u200b\\u200e\\u200f" +
    "\\u202a-\\u202e\\u2060-\\u2064\\u2066-\\u206f\\ufeff\\ufff9-\\ufffb]+",
  "gu",
);

const VISIBLE = new RegExp(`[^${BLANK}]`, "u");

/**
 * {words, starts, ends}: the visible words, and of each the place of the least answer with it.
 *
 * Words are of the text with marks, but no unit reaches over a mark.
 */
export function placeWords(text, marked = text) {
  const { words, starts, ends } = visibleTokens(marked);
  const leastStarts = [...starts], leastEnds = [...ends];
  for (const [begin, end] of units(text)) {
    const first = count(ends, (each) => each <= begin), last = count(starts, (each) => each < end);
    if (last - first > 1) {
      leastStarts.fill(starts[first], first, last);
      leastEnds.fill(ends[last - 1], first, last);
    }
  }
  return { words, starts: leastStarts, ends: leastEnds };
}

/** Whether a text has no visible character. */
export function isBlank(text) {
  return !VISIBLE.test(text);
}

/** {words, starts, ends}: words without invisible characters, with places in the whole text. */
export function visibleTokens(text) {
  const kept = [], places = [];
  let end = 0;
  const keep = (until) => {
    kept.push(text.slice(end, until));
    for (let i = end; i < until; i++) places.push(i);
  };
  for (const { index, 0: found } of text.matchAll(INVISIBLE)) {
    keep(index);
    if (DIVIDING.test(found)) {
      kept.push(" ");
      places.push(index);
    }
    end = index + found.length;
  }
  if (end === 0) return tokenise(text);
  keep(text.length);
  const { words, starts, ends } = tokenise(kept.join(""));
  return { words, starts: starts.map((i) => places[i]), ends: ends.map((i) => places[i - 1] + 1) };
}

/** How many of ascending values, which come first, satisfy a condition. */
export function count(values, holds) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(values[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}

function* units(text) {
  for (const digits of text.matchAll(DIGITS)) {
    const before = text.slice(0, digits.index + digits[0].length);
    UNIT.lastIndex = Math.max(0, digits.index - 1);
    for (let unit; (unit = UNIT.exec(before)); ) yield span(unit);
  }
  if (OF_NAME.test(text)) for (const name of text.matchAll(NAME)) yield span(name);
  if (OF_EMOJI.test(text)) for (const cluster of text.matchAll(EMOJI)) yield span(cluster);
}

function span(match) {
  return [match.index, match.index + match[0].length];
}
