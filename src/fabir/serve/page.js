"use strict";
const EXAMPLES = [
  ["Harbour", "When was the lighthouse built?",
   "The harbour of Brennick lies at the mouth of the river Aune. Its lighthouse was built in 1847 by the engineer Clara Venning, after eleven ships had been lost on the sandbank in a single winter. The lamp burned whale oil until 1902, when it was replaced by an electric light that can be seen from 31 kilometres away. Today the keeper's house is a small museum, and the tower is open to visitors from April to October."],
  ["Bread", "Why does bread dough rise?",
   "Bread dough is made of flour, water, salt and yeast. The yeast feeds on the sugars in the flour and gives off carbon dioxide. Bread dough rises because the gas is trapped in a net of gluten, a protein that forms when flour and water are kneaded together. In a warm room this takes about an hour; in a refrigerator it takes a whole night, and the bread tastes better for it."],
  ["Library", "Who may borrow books?",
   "The town library holds 64,000 books and 3,200 maps. Anyone who lives in the county may borrow books, six at a time, for four weeks. Maps do not leave the building, but the staff will copy a part of one for forty pence. The reading room opens at nine on weekdays and at ten on Saturdays, and is closed on Sundays."],
];
const MOST_SHARED = 2000;  // characters of a passage that an address holds
const TOKEN = "fabir " + location.pathname;  // other services may have the same origin
const by = id => document.getElementById(id);
const add = (parent, kind, text, className) => {
  const made = parent.appendChild(document.createElement(kind));
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
};
const percent = score => (score < .001 ? "< 0.1" : (100 * score).toFixed(1)) + " %";
const ROW = /^(.*\.(?:xls[xm]|ods))#(.*)!(\d+)$/is;  // of a workbook
const nameOf = document => document.replace(ROW, "$1, sheet $2, row $3");
const placeOf = found => [nameOf(found.document), ROW.test(found.document) ? "" : found.page ? "page " + found.page
  : found.line ? "line " + found.line : found.heading ? "under " + found.heading
  : found.paragraph ? "paragraph " + found.paragraph : ""].filter(Boolean).join(", ")
  + (found.copies?.length ? ` (and ${found.copies.length} more)` : "");
const fromIndex = () => by("from-index").checked;
let health = {};
let running = new AbortController();  // of the requests of the last attempt
let asked = null;  // question and passage of the attention view
let shown = null;  // address of the answers on the page

// Requests and their errors.
class TokenNeeded extends Error {}
const foreign = status => new Error("What answers here is not fabir (status " + status + "). Is a proxy before it?");
async function request(path, body) {
  const token = sessionStorage.getItem(TOKEN), headers = token ? {authorization: "Bearer " + token} : {};
  if (body) headers["content-type"] = "application/json";
  const {signal} = running;
  const response = await fetch(path, {
    method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal,
  }).catch(() => { throw new Error("The service cannot be reached."); });
  if (response.ok) return response;
  if (response.status === 401 && response.headers.get("www-authenticate") === "Bearer")
    throw new TokenNeeded(token ? "The service does not know this token." : "");
  const problem = await response.json().catch(() => { throw foreign(response.status); });
  throw problem.detail ? new Error(problem.detail) : foreign(response.status);
}
async function requestJson(path, body) {
  const response = await request(path, body);
  return response.json().catch(() => { throw foreign(response.status); });
}
// Do `work`, in place of what was begun before. What it promises to say goes to the element `place`.
async function attempt(doing, work, place = "said") {
  running.abort();
  const {signal} = running = new AbortController();
  by("wrong").textContent = by("drawing").textContent = "";
  by("token-form").hidden = true;
  by(place).textContent = doing;
  by(place).className = "";
  try {
    const said = await work(signal);
    if (!signal.aborted) by(place).textContent = said || "";
  } catch (error) {
    if (signal.aborted) return;
    by(place).textContent = "";
    by("wrong").textContent = error.message;
    if (error instanceof TokenNeeded) askForToken(() => attempt(doing, work, place));
  }
}
function askForToken(goOn) {
  by("token-form").hidden = false;
  by("token-form").onsubmit = event => {
    event.preventDefault();
    sessionStorage.setItem(TOKEN, by("token").value);
    by("token").value = "";
    goOn();
  };
  by("token").focus();
}

// Answers.
// Offsets count characters; JavaScript's strings count halves of some.
function highlight(parent, text, answers, kind = "best") {
  const characters = Array.from(text), marks = [];
  let place = 0;
  answers.map((answer, i) => [answer, i]).sort(([a], [b]) => a.start - b.start)
    .forEach(([answer, i]) => {
      parent.append(characters.slice(place, answer.start).join(""));
      marks[i] = add(parent, "mark", characters.slice(answer.start, answer.end).join(""), i ? "" : kind);
      marks[i].tabIndex = -1;
      if (answers.length > 1) add(marks[i], "sup", i + 1).setAttribute("aria-hidden", "true");
      place = answer.end;
    });
  parent.append(characters.slice(place).join(""));
  return marks;
}
function addRow(item, answer, i, mark) {
  const button = add(item, "button", undefined, "answer");
  add(button, "span", i + 1 + ".", "soft");
  add(button, "b", answer.text);
  const bar = add(button, "progress");
  bar.value = answer.score;
  bar.setAttribute("aria-hidden", "true");
  add(button, "span", percent(answer.score), "score");
  button.onclick = () => go(mark);
}
function go(mark) {
  mark.focus({preventScroll: true});
  mark.scrollIntoView({block: "center"});
}
function showPassage({question, passage}, {answers, best_guess}) {
  const marks = highlight(by("text"), passage, best_guess ? [best_guess] : answers, best_guess && "guess");
  answers.forEach((answer, i) => addRow(add(by("answers"), "li"), answer, i, marks[i]));
  by("whole").hidden = false;
  asked = {question, passage};
}
function showFound({question}, {answers, best_guess}) {
  (best_guess ? [best_guess] : answers).forEach((answer, i) => {
    const item = add(by("answers"), "li"), text = document.createElement("div");
    text.className = "text";
    const span = {start: answer.passage_start, end: answer.passage_end};
    const [mark] = highlight(text, answer.passage, [span], best_guess && "guess");
    if (!best_guess) addRow(item, answer, i, mark);
    add(add(item, "p"), "a", placeOf(answer)).href = addressOfDocument(answer);
    item.append(text);
  });
  by("whole").hidden = true;
  const best = best_guess || answers[0];
  asked = best ? {question, passage: best.passage} : null;
}
function guessed(guess, none) {
  return "Best guess: \u201c" + guess.text + "\u201d" + (none < .5 ? " (score " + percent(guess.score) + ")" : "");
}
function withheld(found, where) {
  if (!found.best_guess) return "The model finds no answer in the " + where + ".";
  return found.no_answer < .5 ? "No answer is sure enough." : unlikely(found, where);
}
function unlikely(found, where) {
  return "Probably not in the " + where + " (" + Math.round(100 * found.no_answer) + " %).";
}
function inForm() {
  const asking = {question: by("question").value, top_k: +by("top-k").value};
  return fromIndex() ? asking : {...asking, passage: by("passage").value};
}
const ask = (asking, again = false) => async signal => {
  const index = asking.passage === undefined, began = performance.now();
  by("results").hidden = true;
  const found = await requestJson(index ? "ask" : "answer", asking);
  if (signal.aborted) return;
  const count = found.answers.length, where = index ? "documents" : "text";
  const took = Math.round(performance.now() - began) + " ms";
  by("answers").replaceChildren();
  by("text").replaceChildren();
  by("view").hidden = true;
  (index ? showFound : showPassage)(asking, found);
  by("results").hidden = false;
  by("attention").hidden = !asked || !!health.explain;
  by("guess").textContent = found.best_guess ? guessed(found.best_guess, found.no_answer) : "";
  by("heading").hidden = !count;
  remember(asking, again);
  if (!count) by("said").className = "withheld";
  if (!count) return withheld(found, where);
  const doubt = index && found.answers[0].score < .3 ? ". " + unlikely(found, where) : "";
  return count + (count > 1 ? " answers" : " answer") + " in " + took + doubt;
};
async function explain(signal) {
  const page = await (await request("explain", {...asked, top_k: 5})).text();
  if (signal.aborted) return;
  by("view").hidden = false;
  by("view").srcdoc = page;
}

// Addresses. What stands behind the # is not sent to the service.
function addressOf({question, top_k, passage}) {
  const parts = new URLSearchParams({question, top_k, source: passage === undefined ? "index" : "passage"});
  if (passage && passage.length <= MOST_SHARED) parts.set("passage", passage);
  return "#" + parts;
}
function addressOfDocument({document, start, text}) {
  return "#" + new URLSearchParams({document, start, answer: text});
}
function remember(asking, again) {
  shown = addressOf(asking);
  history[again || shown === location.hash ? "replaceState" : "pushState"](asking, "", shown);
}
function visit() {
  const given = new URLSearchParams(location.hash.slice(1)), name = given.get("document");
  by("document").hidden = name === null;
  by("form").hidden = name !== null;
  by("results").hidden = name !== null || shown === null || location.hash !== shown;
  document.title = name === null ? "fabir: ask a text" : nameOf(name);
  if (name !== null) attempt("Reading \u2026", openDocument(name, +given.get("start") || 0, given.get("answer") || ""));
  else if (given.has("question") && by("results").hidden) attempt("Reading \u2026", askAgain(given));
  else attempt("", () => "");
}
const askAgain = given => async signal => {
  const source = given.get("source") || (health.index ? "index" : "passage"), index = source === "index";
  const passage = history.state?.passage ?? given.get("passage") ?? "";
  by("question").value = given.get("question");
  by("top-k").value = given.get("top_k");
  if (by("top-k").selectedIndex < 0) by("top-k").value = 3;
  if (!index) setPassage(passage);
  choose(index && health.index);
  if (index && !health.index) throw new Error("This service has no documents to ask: it has no index.");
  if (!index && !passage) return "The address does not hold the passage: paste it, then ask.";
  return ask(inForm(), true)(signal);
};
const openDocument = (name, start, answer) => async signal => {
  by("name").textContent = nameOf(name);
  by("back").href = shown || "#";
  by("back").textContent = shown ? "Back to the answers" : "Ask a question";
  by("about").textContent = "";
  by("document-text").replaceChildren();
  const found = await requestJson("document", {document: name, start});
  if (signal.aborted) return;
  const at = start - found.start, end = at + Array.from(answer).length;
  const same = answer && Array.from(found.text).slice(at, end).join("") === answer;
  const [mark] = highlight(by("document-text"), found.text, same ? [{start: at, end}] : []);
  by("about").textContent = (found.whole ? "The text that was indexed, without its layout."
    : "A part of the text that was indexed, without its layout.")
    + (answer && !same ? " It has changed since this address was made: the answer is not where it was." : "");
  if (mark) go(mark);
};

// The form.
function choose(index) {
  by("from-index").checked = index;
  document.querySelector("[name=source][value=passage]").checked = !index;
  by("passage-field").hidden = by("example-field").hidden = by("passage").disabled = index;
  by("question").placeholder = index ? "What do you want to know?" : "";
}
function chooseSource() {
  const isExample = EXAMPLES.some(([, question]) => question === by("question").value);
  choose(fromIndex());
  if (fromIndex() && isExample) by("question").value = "";
  if (!fromIndex() && !by("question").value && !by("passage").value) fill(0);
}
function fill(i) {
  if (i < 0) return;
  by("question").value = EXAMPLES[i][1];
  setPassage(EXAMPLES[i][2]);
}
function setPassage(text) {
  by("passage").value = text;
  nameExample();
}
function nameExample() {
  by("example").value = EXAMPLES.findIndex(([, , passage]) => passage === by("passage").value);
}
async function start() {
  ["none", ...EXAMPLES.map(([name]) => name)].forEach((name, i) => {
    add(by("example"), "option", name).value = i - 1;
  });
  by("example").onchange = () => fill(by("example").value);
  by("passage").oninput = nameExample;
  document.getElementsByName("source").forEach(each => { each.onchange = chooseSource; });
  by("form").onsubmit = event => {
    event.preventDefault();
    nameExample();
    attempt("Reading \u2026", ask(inForm()));
  };
  by("form").onkeydown = event => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) by("form").requestSubmit(by("go"));
  };
  by("explain").onclick = () => attempt(
    "Drawing: the first time this takes some seconds \u2026", explain, "drawing");
  window.onmessage = event => {
    if (event.source === by("view").contentWindow) by("view").style.height = event.data.height + "px";
  };
  window.onpopstate = visit;
  await attempt("", async () => {
    health = await requestJson("health");
    if (health.status !== "ok") throw foreign(200);
  });
  if (health.status !== "ok") return;
  by("form").hidden = false;
  by("sources").hidden = !health.index;
  choose(health.index);
  if (!health.index) fill(0);
  if (location.hash) visit();
}
start();
