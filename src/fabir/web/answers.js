// From the logits of a passage's windows to its answers: what fabir.answer.batching, .spans and
// .merging do in Python.

const PADDING = -1e4; // no real token has a logit this low
const MAX_WORDS = 15; // of the longest answer
const LEAST = 0.01; // probability of another answer: no answer is surer than that
const TINY = 1e-300;

/**
 * What was found in a window: its logits.
 *
 * `part` is {words, starts, ends, lines, punctuation, pieces} of the window; `first` is 1 if the
 * logits begin with a place for no answer, else 0; `support` is added to the logits of each piece's
 * words.
 */
export function foundIn(part, { start, end, none }, first, support) {
  const raised = (logits) =>
    support ? logits.map((each, i) => each + support.at(part.pieces[i] ?? -1)) : logits;
  return {
    part,
    start: raised(start.subarray(first)),
    end: raised(end.subarray(first)),
    head: none,
    noStart: first ? start[0] : -Infinity,
    noEnd: first ? end[0] : -Infinity,
  };
}

/** {answers: [{start, end, score}], noAnswer}; `confidence` is that of the model's config.json. */
export function merge(windows, topK, confidence) {
  if (!windows.length) return { answers: [], noAnswer: 1 };
  const none = windows.reduce((a, b) => (a.noStart + a.noEnd <= b.noStart + b.noEnd ? a : b));
  const startMass = logSum([none.noStart, ...windows.map((each) => logSum(each.start))]);
  const endMass = logSum([none.noEnd, ...windows.map((each) => logSum(each.end))]);
  const texts = new Map(windows.map((each) => [each, each.part.words.map(lower)]));
  const best = bestSpans(texts, topK);
  const features = featuresOf(texts, best, startMass, endMass);
  const scores = features.map((each) =>
    confidence.score.length ? logistic(dot(each, confidence.score)) : Math.exp(each[1]),
  );
  // The order is that of the best places, so no score may exceed an earlier one.
  for (let i = 1; i < scores.length; i++) scores[i] = Math.min(scores[i], scores[i - 1]);
  return {
    answers: best.map(({ start, end }, i) => ({ start, end, score: scores[i] })),
    noAnswer: noAnswer(windows[0], none, best[0], features[0], scores[0], confidence.no_answer),
  };
}

function noAnswer(window, none, best, features, score, weights) {
  if (weights.length) return logistic(dot(features, weights));
  if (window.head !== undefined) return logistic(features[3]);
  if (none.noStart > -Infinity) return logistic(none.noStart + none.noEnd - best.score);
  return 1 - score;
}

/** The best spans that share no character with a place of a better one's words, best first. */
function bestSpans(texts, topK) {
  const chosen = [];
  const length = Math.max(...[...texts.keys()].map(({ part }) => part.ends.at(-1)));
  const taken = new Int32Array(length + 1).fill(length); // for each character the next taken one
  while (chosen.length < topK) {
    let best = null;
    for (const span of spans(texts.keys())) {
      if (best && !isBetter(span, best)) continue;
      if (span.end <= taken[span.start]) best = span;
    }
    if (!best) break;
    chosen.push(best);
    const words = wordsOf(best, texts), count = words.length;
    for (const [{ part }, text] of texts)
      for (const i of placesOf(words, text))
        for (let at = part.starts[i]; at < part.ends[i + count - 1]; at++) taken[at] = at;
    for (let at = length - 1; at >= 0; at--) if (taken[at] > at) taken[at] = taken[at + 1];
  }
  return chosen;
}

function wordsOf({ window, first, last }, texts) {
  return texts.get(window).slice(first, last + 1);
}

function isBetter(span, other) {
  if (span.score !== other.score) return span.score > other.score;
  return span.start !== other.start ? span.start < other.start : span.end < other.end;
}

/** Every span of at most MAX_WORDS words within one line that is not punctuation alone. */
function* spans(windows) {
  for (const window of windows) {
    const { starts, ends, lines, punctuation } = window.part;
    for (let first = 0; first < starts.length; first++) {
      if (window.start[first] <= PADDING || lines?.[first] < 0) continue;
      const limit = Math.min(first + MAX_WORDS, starts.length);
      let bare = true;
      for (let last = first; last < limit; last++) {
        bare &&= punctuation?.[last];
        if (bare) continue;
        if (window.end[last] <= PADDING || lines?.[last] !== lines?.[first]) continue;
        const score = Math.fround(window.start[first] + window.end[last]);
        yield { window, first, last, start: starts[first], end: ends[last], score };
      }
    }
  }
}

/**
 * The features of a `Confidence` for each answer; see fabir.answer.merging.
 *
 * Wherever the passage has the words of an answer, in upper or lower case, it says the same: the
 * probabilities of all these places add up.
 */
function featuresOf(texts, best, startMass, endMass) {
  const several = Math.log(texts.size);
  return best.map((span) => {
    const words = wordsOf(span, texts), sums = [0, 0, 0, 0];
    for (const [each, text] of texts) {
      const places = placesOf(words, text);
      const shares = sharesOf(each, places, words.length, startMass, endMass);
      shares.forEach((share, i) => (sums[i] += share));
    }
    const logs = sums.map((each) => Math.log(Math.max(each, TINY)));
    const both = Math.min(logs[0] + logs[1], 0), place = Math.min(logs[2] + logs[3], 0);
    const single = [both, place, span.window.head ?? 0];
    const elsewhere = Math.log(Math.max(-Math.expm1(place), LEAST));
    return [
      ...[1, ...single, several],
      ...single.map((each) => each * several),
      ...[elsewhere, elsewhere * several],
    ];
  });
}

function lower(word) {
  return word.toLowerCase();
}

/** Where the words stand in the text, as numbers of the first one. */
function placesOf(words, text) {
  const all = [...text.keys()];
  return all.filter((i) => words.every((word, k) => text[i + k] === word));
}

/**
 * Probabilities that the answer starts at one of the places of `count` words, that it ends at the
 * last word of one, that it starts within one, and that it ends within one.
 */
function sharesOf(window, places, count, startMass, endMass) {
  const within = new Set(places.flatMap((place) => [...Array(count).keys()].map((i) => place + i)));
  const sum = (numbers, logits, mass) =>
    [...numbers].reduce((total, i) => total + Math.exp(logits[i] - mass), 0);
  return [
    sum(places, window.start, startMass),
    sum(places.map((place) => place + count - 1), window.end, endMass),
    sum(within, window.start, startMass),
    sum(within, window.end, endMass),
  ];
}

function logSum(values) {
  const highest = values.reduce((a, b) => Math.max(a, b), -Infinity);
  return highest + Math.log(values.reduce((sum, each) => sum + Math.exp(each - highest), 0));
}

function logistic(x) {
  return 1 / (1 + Math.exp(-x));
}

function dot(a, b) {
  return b.reduce((sum, each, i) => sum + each * a[i], 0);
}
