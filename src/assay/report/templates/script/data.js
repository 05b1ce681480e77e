"use strict";
// The data of the page, and the few ways to put text on it. Text is never read as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const { words, task, instance } = data;
const count = expanded(task, task.instance);
expanded(instance, instance.name);

// A column that says the same everywhere came as that one value.
function expanded(columns, full) {
  const length = Array.isArray(full) ? full.length : 1;
  for (const [key, column] of Object.entries(columns))
    if (!Array.isArray(column)) columns[key] = new Array(length).fill(column);
  return length;
}

const byId = (id) => document.getElementById(id);

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "onclick") made.addEventListener("click", value);
    else if (value !== null && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== ""));
  return made;
}

function drawn(tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const whole = (number) => number.toLocaleString("en-US");
const secondsText = (s) => (s < 0.01 ? s.toFixed(4) : s < 100 ? s.toFixed(2) : s.toFixed(0));
const slug = (text) => text.replaceAll(" ", "-");
const chip = (outcome) =>
  element("span", { class: "chip o-" + slug(outcome), title: data.meaning.outcome[outcome] }, outcome);

// What a task says about itself, by column.
const cell = {
  outcome: (t) => words.outcome[task.outcome[t]],
  verifier: (t) => words.verifier[task.verifier[t]],
  instance: (t) => instance.name[task.instance[t]],
  family: (t) => words.family[instance.family[task.instance[t]]],
  group: (t) => words.group[instance.group[task.instance[t]]],
  truth: (t) => words.answer[instance.answer[task.instance[t]]],
  verdict: (t) => words.verdict[task.verdict[t]],
  ending: (t) => words.ending[task.ending[t]],
  witness: (t) => words.witness[task.witness[t]],
};
const solvedOutcomes = new Set(["proved", "falsified", "falsified unchecked", "says robust", "says violated"]);
const isSolved = words.outcome.map((outcome) => solvedOutcomes.has(outcome));

// Light or dark: what the system says until the reader chooses.
byId("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
