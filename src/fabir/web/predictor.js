// Takes questions and passages, and returns answers: what fabir.Predictor is in Python.
import { foundIn, merge } from "./answers.js";
import { windowsOf } from "./passages.js";
import { isBlank, visibleTokens } from "./units.js";

export const MAX_QUESTION = 64; // words of a question that are read

export class Predictor {
  #model;
  #passage;
  #windows;

  constructor(model) {
    this.#model = model;
  }

  /**
   * {answers: [{start, end, score}], noAnswer, given, cut}: the best spans with different texts
   * that do not overlap, whether the model's own rule gives them, and whether words of the
   * question were not read.
   * Offsets are those of JavaScript's strings.
   *
   * `progress` is called before each window with its number and how many there are.
   */
  async read(question, passage, topK, progress = () => {}) {
    const { words } = visibleTokens(question);
    const asked = words.slice(0, MAX_QUESTION), cut = words.length > MAX_QUESTION;
    if (!asked.length || isBlank(question)) throw new Error("The question is empty: ask something.");
    if (this.#passage !== passage) {
      this.#passage = passage;
      this.#windows = windowsOf(passage);
    }
    const found = [], windows = this.#windows;
    const support = windows[0]?.layout?.support(question);
    const before = this.#model.vocabulary.before.length;
    for (const window of windows) {
      await progress(found.length, windows.length);
      window.encoded ??= await this.#model.encode(window.words);
      const logits = await this.#model.answer(window.words, asked, window.encoded);
      found.push(foundIn(window, logits, before, support));
    }
    const { confidence, no_answer_threshold } = this.#model.settings;
    const reading = merge(found, topK, confidence);
    return { ...reading, given: reading.noAnswer <= no_answer_threshold, cut };
  }
}
