// The data of the page, and what a task says about itself.
const data = JSON.parse(byId("data").textContent);
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

const whole = (number) => number.toLocaleString("en-US");
const secondsText = (s) => (s < 0.01 ? s.toFixed(4) : s < 100 ? s.toFixed(2) : s.toFixed(0));
const slug = (text) => text.replaceAll(" ", "-");
const chip = (outcome) =>
  element("span", { class: "chip o-" + slug(outcome), title: data.meaning.outcome[outcome] }, outcome);

// A word with its meaning, for mouse and keyboard.
const term = (word) => (data.meaning.word[word]
  ? element("span", { class: "term", tabindex: "0" }, word,
      element("span", { class: "tip", role: "tooltip" }, element("b", {}, word), ": " + data.meaning.word[word]))
  : word);

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
