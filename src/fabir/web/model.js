// A model's three graphs in ONNX Runtime, its vocabulary and word rows: what
// fabir.runtime.onnx_model is in Python.
import * as ort from "./runtime/ort.wasm.bundle.min.js";
import { readTensors } from "./safetensors.js";
import { Vocabulary } from "./vocabulary.js";

const GRAPHS = ["words.onnx", "encode.onnx", "answer.onnx"];
const PASSAGE_STEP = 8, QUESTION_STEP = 4; // lengths are padded to multiples of these
// To optimise the graphs takes a third of the time of loading, and they answer no faster.
const OPTIONS = { executionProviders: ["wasm"], graphOptimizationLevel: "disabled" };
const MOST_VECTORS = 50_000; // word vectors that are kept

ort.env.wasm.numThreads = 1; // more need a page that is isolated from other origins

export class Model {
  #graphs;
  #words;
  #vectors = new Map(); // by spelling

  /** Load a model; `read` gets a file's name and gives a promise of its Response. */
  static async load(read) {
    const graph = async (name) =>
      ort.InferenceSession.create(await (await read(name)).arrayBuffer(), OPTIONS);
    const json = async (name) => (await read(name)).json();
    const model = new Model();
    const tensors = read("words.safetensors").then((response) => response.arrayBuffer());
    const contents = [json("config.json"), json("vocabulary.json"), tensors, ...GRAPHS.map(graph)];
    const [settings, vocabulary, words, ...graphs] = await Promise.all(contents);
    model.settings = settings;
    model.vocabulary = new Vocabulary(vocabulary);
    model.#words = readTensors(words);
    model.#graphs = graphs;
    return model;
  }

  /** The encoding of a passage's words: a tensor [1, words, features]. */
  async encode(words) {
    const inputs = await this.#inputs(words, []);
    return (await run(this.#graphs[1], inputs)).encoded;
  }

  /** Logits {start, end, none} about an encoded passage; `none` is undefined without a head. */
  async answer(words, question, encoded) {
    const inputs = await this.#inputs(words, question);
    const { start, end, no_answer } = await run(this.#graphs[2], { ...inputs, encoded });
    return { start: start.data, end: end.data, none: no_answer?.data[0] };
  }

  async #inputs(words, question) {
    const passage = [...this.vocabulary.before, ...words];
    const types = ["", ...new Set([...passage, ...question])]; // the first one is padding
    await this.#embed(types);
    const number = new Map(types.map((spelling, i) => [spelling, i]));
    const numbers = (spellings, step) =>
      padded(spellings.map((spelling) => number.get(spelling)), step);
    const vectors = types.map((spelling) => this.#vectors.get(spelling));
    return {
      words: integers(types.map((spelling) => this.vocabulary.look(spelling).row), [types.length]),
      vectors: floats(vectors),
      passage: numbers(passage, PASSAGE_STEP),
      question: numbers(question, QUESTION_STEP),
      passage_of: integers([0], [1]),
    };
  }

  /** Compute the vectors of spellings that have none yet. */
  async #embed(spellings) {
    if (this.#vectors.size > MOST_VECTORS) this.#vectors.clear();
    const missing = spellings.filter((spelling) => !this.#vectors.has(spelling));
    if (!missing.length) return;
    const looked = missing.map((spelling) => this.vocabulary.look(spelling));
    const letters = Math.max(1, ...looked.map(({ characters }) => characters.length));
    const characters = looked.flatMap((each) => fill(each.characters, letters));
    const { vectors } = await run(this.#graphs[0], {
      rows: floats(looked.map(({ row }) => this.#wordRow(row))),
      characters: integers(characters, [missing.length, letters]),
    });
    const dim = vectors.dims[1];
    missing.forEach((spelling, i) => {
      this.#vectors.set(spelling, vectors.data.slice(i * dim, (i + 1) * dim));
    });
  }

  /** The vector of a word's row: 0 is padding, 1 unknown, then trained, then fixed words. */
  #wordRow(row) {
    const { trained, rows, scales } = this.#words;
    const dim = trained.shape[1], fixed = row - 1 - trained.shape[0];
    const from = fixed < 0 ? trained : rows, first = (fixed < 0 ? row - 1 : fixed) * dim;
    const scale = fixed < 0 || !scales ? 1 : scales.at(fixed);
    const value = (_, i) => (row === 0 ? 0 : from.at(first + i) * scale);
    return Float32Array.from({ length: dim }, value);
  }
}

async function run(graph, tensors) {
  return graph.run(Object.fromEntries(graph.inputNames.map((name) => [name, tensors[name]])));
}

function integers(values, shape) {
  return new ort.Tensor("int64", BigInt64Array.from(values, BigInt), shape);
}

/** A matrix of rows. */
function floats(rows) {
  const dim = rows[0].length, values = new Float32Array(rows.length * dim);
  rows.forEach((row, i) => values.set(row, i * dim));
  return new ort.Tensor("float32", values, [rows.length, dim]);
}

/** A matrix of one row, with zeros up to a multiple of `step`. */
function padded(values, step) {
  const length = Math.max(step, Math.ceil(values.length / step) * step);
  return integers(fill(values, length), [1, length]);
}

function fill(values, length) {
  return [...values, ...Array(length - values.length).fill(0)];
}
