// From the logits of a passage's windows to its answers: what fabir.answer.batching, .spans and
// .merging do in Python.

const PADDING = -1e4; // no real token has a logit this low
const MAX_WORDS = 15; // of the longest answer
const LEAST = 0.01; // probability of another place: no answer is surer than that

/**
 * One window's logits, with what is summed over it.
 *
 * `part` is {starts, ends, lines, punctuation} of the window's words; `first` is 1 if the logits
 * begin with a place for no answer, else 0.
 */
export function foundIn(part, { start, end, none }, first) {
  return {
    part,
    start: sumUp(start.subarray(first)),
    end: sumUp(end.subarray(first)),
    head: none,
    noStart: first ? start[0] : -Infinity,
    noEnd: first ? end[0] : -Infinity,
  };
}

/** {answers: [{start, end, score}], noAnswer}; `confidence` is that of the model's config.json. */
export function merge(windows, topK, confidence) {
  if (!windows.length) return { answers: [], noAnswer: 1 };
  const none = windows.reduce((a, b) => (a.noStart + a.noEnd <= b.noStart + b.noEnd ? a : b));
  const startMass = logSum([none.noStart, ...windows.map((each) => each.start.mass)]);
  const endMass = logSum([none.noEnd, ...windows.map((each) => each.end.mass)]);
  const best = bestSpans(windows, topK);
  const mass = startMass + endMass, several = Math.log(windows.length);
  const features = best.map((span) => featuresOf(span, mass, several));
  const scores = features.map((each) =>
    confidence.score.length ? logistic(dot(each, confidence.score)) : Math.exp(each[1]),
  );
  // The order is that of the spans, so no score may exceed an earlier one.
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

/** The best spans that share no character, best first. */
function bestSpans(windows, topK) {
  const chosen = [];
  while (chosen.length < topK) {
    let best = null;
    for (const span of spans(windows)) {
      if (best && !isBetter(span, best)) continue;
      if (chosen.every((each) => span.end <= each.start || span.start >= each.end)) best = span;
    }
    if (!best) break;
    chosen.push(best);
  }
  return chosen;
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
      if (window.start.logits[first] <= PADDING || lines?.[first] < 0) continue;
      const limit = Math.min(first + MAX_WORDS, starts.length);
      let bare = true;
      for (let last = first; last < limit; last++) {
        bare &&= punctuation?.[last];
        if (bare) continue;
        if (window.end.logits[last] <= PADDING || lines?.[last] !== lines?.[first]) continue;
        const score = Math.fround(window.start.logits[first] + window.end.logits[last]);
        yield { window, first, last, start: starts[first], end: ends[last], score };
      }
    }
  }
}

/** The features of a `Confidence`; see fabir.runtime.settings. */
function featuresOf({ window, first, last, score }, mass, several) {
  const within = ({ sums, highest }) =>
    Math.log(Math.max(sums[last + 1] - sums[first], 1e-30)) + highest;
  const place = Math.fround(within(window.start) + within(window.end));
  const found = [Math.min(score - mass, 0), Math.min(place - mass, 0), window.head ?? 0];
  const elsewhere = Math.log(Math.max(-Math.expm1(found[1]), LEAST));
  return [
    ...[1, ...found, several],
    ...found.map((each) => each * several),
    ...[elsewhere, elsewhere * several],
  ];
}

/** Logits, the highest, the sums of exp(logit - highest) up to each, and the log-sum-exp. */
function sumUp(logits) {
  const highest = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const sums = [0];
  for (const each of logits) sums.push(sums.at(-1) + Math.fround(Math.exp(each - highest)));
  return { logits, highest, sums, mass: Math.log(sums.at(-1)) + highest };
}

function logSum(values) {
  const highest = Math.max(...values);
  return highest + Math.log(values.reduce((sum, each) => sum + Math.exp(each - highest), 0));
}

function logistic(x) {
  return 1 / (1 + Math.exp(-x));
}

function dot(a, b) {
  return b.reduce((sum, each, i) => sum + each * a[i], 0);
}
