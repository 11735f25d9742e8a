// The page: it loads the model, asks it, and shows answers where they stand.
import { size } from "./lines.js";
import { Model } from "./model.js";
import { MAX_QUESTION, Predictor } from "./predictor.js";

const by = (id) => document.getElementById(id);
const percent = (score) => (score < 0.001 ? "< 0.1" : (100 * score).toFixed(1)) + " %";

function add(parent, kind, text = "", className = "") {
  const made = parent.appendChild(document.createElement(kind));
  made.textContent = text;
  made.className = className;
  return made;
}

async function fetched(name) {
  const response = await fetch(`model/${name}`);
  if (response.ok) return response;
  throw new Error(`${name} cannot be loaded: ${response.status} ${response.statusText}`);
}

/** Show what `work` promises to say, or its error. Meanwhile nothing can be asked. */
async function attempt(work) {
  by("go").disabled = true;
  by("wrong").textContent = "";
  try {
    by("said").textContent = await work();
    by("go").disabled = false;
  } catch (error) {
    by("said").textContent = "";
    by("wrong").textContent = error.message;
    by("go").disabled = !predictor;
  }
}

/** Marks of the spans within the text, in the order of `spans`. */
function highlight(parent, text, spans, kind) {
  const marks = [];
  let place = 0;
  for (const span of [...spans].sort((a, b) => a.start - b.start)) {
    const i = spans.indexOf(span);
    parent.append(text.slice(place, span.start));
    marks[i] = add(parent, "mark", text.slice(span.start, span.end), i === 0 ? kind : "");
    marks[i].tabIndex = -1;
    if (spans.length > 1) add(marks[i], "sup", i + 1).setAttribute("aria-hidden", "true");
    place = span.end;
  }
  parent.append(text.slice(place));
  return marks;
}

/** Where an answer stands: offsets of characters, as Python counts them. */
function placeOf(text, { start, end }) {
  const before = size(text.slice(0, start));
  return `characters ${before} to ${before + size(text.slice(start, end))}`;
}

function addAnswer(text, answer, i, mark) {
  const button = add(add(by("answers"), "li"), "button", "", "answer");
  add(button, "span", `${i + 1}.`, "soft");
  add(button, "b", text.slice(answer.start, answer.end));
  const bar = add(button, "progress");
  bar.value = answer.score;
  bar.setAttribute("aria-hidden", "true");
  add(button, "span", percent(answer.score), "score");
  add(button, "span", placeOf(text, answer), "place soft");
  button.onclick = () => {
    mark.focus({ preventScroll: true });
    mark.scrollIntoView({ block: "center" });
  };
}

function show(text, { answers, given }) {
  by("answers").replaceChildren();
  by("text").replaceChildren();
  const shown = given ? answers : answers.slice(0, 1);
  const marks = highlight(by("text"), text, shown, given ? "best" : "guess");
  if (given) answers.forEach((answer, i) => addAnswer(text, answer, i, marks[i]));
  const [guess] = given ? [] : answers;
  by("guess").textContent = guess
    ? `Best guess: “${text.slice(guess.start, guess.end)}”, ${placeOf(text, guess)}`
    : "";
  by("heading").hidden = !given;
  by("results").hidden = !answers.length;
}

async function ask() {
  const began = performance.now(), text = by("passage").value;
  by("results").hidden = true;
  const found = await predictor.read(by("question").value, text, +by("top-k").value, progress);
  if (!found.answers.length) throw new Error("The text is empty: paste one.");
  show(text, found);
  const count = found.answers.length, took = Math.round(performance.now() - began);
  const said = found.given
    ? `${count} ${count > 1 ? "answers" : "answer"} in ${took} ms.`
    : `Probably not in the text (${Math.round(100 * found.noAnswer)} %).`;
  if (!found.cut) return said;
  return `${said} The question is longer than ${MAX_QUESTION} words: the rest was not read.`;
}

/** Say what is being read, and let the browser draw it. */
async function progress(part, parts) {
  if (parts === 1) return;
  by("said").textContent = `Reading part ${part + 1} of ${parts} …`;
  await new Promise((resolve) => setTimeout(resolve));
}

async function load() {
  predictor = new Predictor(await Model.load(fetched));
  return "Ready.";
}

let predictor = null;
by("form").onsubmit = (event) => {
  event.preventDefault();
  if (!by("go").disabled) attempt(ask); // it loads, or reads, until it is enabled
};
by("form").onkeydown = (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) by("form").requestSubmit(by("go"));
};
attempt(load);
