// The table of all tasks. Only the rows in sight exist in the document.
const ROW = 32;
const columns = [
  ["outcome", "15%", (t) => task.outcome[t]],
  ["verifier", "11%", (t) => rank.verifier[task.verifier[t]]],
  ["instance", "22%", (t) => rank.instance[task.instance[t]]],
  ["family", "11%", (t) => instance.family[task.instance[t]]],
  ["truth", "13%", (t) => instance.answer[task.instance[t]]],
  ["says", "10%", (t) => task.ending[t]],
  ["seconds", "8%", (t) => task.wall[t]],
  ["MB", "7%", (t) => task.memory[t]],
  ["witness", "13%", (t) => task.witness[t]],
];
const numeric = new Set(["seconds", "MB"]);
const rank = { verifier: ranks(words.verifier), instance: ranks(instance.name) };
const chosen = { text: "", verifier: "", family: "", group: "", outcomes: new Set() };
const order = { column: 0, down: false };
let visible = [];
let opened = -1;

// The place of each text in the alphabet, so that sorting compares numbers.
function ranks(texts) {
  const collator = new Intl.Collator("en", { numeric: true });
  const places = new Array(texts.length);
  texts.map((_, n) => n).sort((a, b) => collator.compare(texts[a], texts[b])).forEach((n, at) => (places[n] = at));
  return places;
}

function refresh() {
  const text = chosen.text.toLowerCase();
  const named = text ? instance.name.map((name) => name.toLowerCase().includes(text)) : null;
  const passes = (t) => {
    const i = task.instance[t];
    return (
      (!named || named[i]) &&
      (chosen.verifier === "" || task.verifier[t] === +chosen.verifier) &&
      (chosen.family === "" || instance.family[i] === +chosen.family) &&
      (chosen.group === "" || instance.group[i] === +chosen.group)
    );
  };
  const totals = new Array(words.outcome.length).fill(0);
  visible = [];
  for (let t = 0; t < count; t++)
    if (passes(t)) {
      totals[task.outcome[t]]++;
      if (!chosen.outcomes.size || chosen.outcomes.has(task.outcome[t])) visible.push(t);
    }
  const key = columns[order.column][2];
  const keys = new Float64Array(count);
  for (const t of visible) keys[t] = key(t);
  const sign = order.down ? -1 : 1;
  visible.sort((a, b) => sign * (keys[a] - keys[b]) || a - b);
  byId("shown").textContent = visible.length === count ? whole(count) : `${whole(visible.length)} of ${whole(count)}`;
  showOutcomes(totals);
  byId("outcome-note").textContent = [...chosen.outcomes].map((n) => `${words.outcome[n]}: ${data.meaning.outcome[words.outcome[n]]}`).join(" ");
  byId("viewport").scrollTop = 0;
  paint();
}

function showOutcomes(totals) {
  byId("by-outcome").replaceChildren(
    ...words.outcome.flatMap((outcome, n) =>
      totals[n] || chosen.outcomes.has(n)
        ? [
            element(
              "button",
              { type: "button", "aria-pressed": String(chosen.outcomes.has(n)), title: data.meaning.outcome[outcome],
                onclick: () => { if (!chosen.outcomes.delete(n)) chosen.outcomes.add(n); refresh(); } },
              element("i", { class: "o-" + slug(outcome) }), outcome, element("small", {}, whole(totals[n])),
            ),
          ]
        : [],
    ),
  );
}

function paint() {
  const box = byId("viewport");
  const first = Math.max(0, Math.floor(box.scrollTop / ROW) - 10);
  const last = Math.min(visible.length, first + Math.ceil(box.clientHeight / ROW) + 20);
  const gap = (rows) => element("tr", { class: "gap", style: `height:${rows * ROW}px` }, element("td", { colspan: columns.length }));
  byId("grid").tBodies[0].replaceChildren(gap(first), ...visible.slice(first, last).map(row), gap(visible.length - last));
}

function row(t) {
  const edge = cell.group(t) === "real" ? " (knife-edge)" : "";
  const cells = [
    chip(cell.outcome(t)), cell.verifier(t), cell.instance(t), cell.family(t), cell.truth(t) + edge,
    cell.ending(t) === "answered" ? cell.verdict(t) || "nothing" : cell.ending(t),
    secondsText(task.wall[t]), task.memory[t] ? whole(Math.round(task.memory[t])) : "", cell.witness(t),
  ];
  return element(
    "tr",
    { class: t === opened ? "row open" : "row", onclick: () => open(t) },
    ...cells.map((content, n) =>
      element("td", { class: numeric.has(columns[n][0]) ? "n" : null, title: typeof content === "string" ? content : null }, content)),
  );
}

function header() {
  byId("grid").tHead.rows[0].replaceChildren(
    ...columns.map(([name, width], n) =>
      element(
        "th",
        { style: `width:${width}`, class: numeric.has(name) ? "n" : null,
          "aria-sort": n === order.column ? (order.down ? "descending" : "ascending") : null,
          onclick: () => {
            order.down = n === order.column ? !order.down : numeric.has(name);
            order.column = n;
            header();
            refresh();
          } },
        name + (n === order.column ? (order.down ? " ↓" : " ↑") : ""),
      )),
  );
}

const choices = { verifier: words.verifier, family: words.family, group: words.group };
const choiceNames = { float32: "guard float32 (holds in floating point too)", real: "guard real (knife-edge)" };
for (const [name, texts] of Object.entries(choices)) {
  const select = byId("by-" + name);
  texts.forEach((text, n) => select.append(element("option", { value: n }, choiceNames[text] || text)));
  select.addEventListener("change", () => { chosen[name] = select.value; refresh(); });
}

function choose(values) {
  Object.assign(chosen, { text: "", verifier: "", family: "", group: "", outcomes: new Set() }, values);
  byId("search").value = chosen.text;
  for (const name of Object.keys(choices)) byId("by-" + name).value = chosen[name];
  refresh();
}

let waiting = 0;
byId("search").addEventListener("input", (event) => {
  clearTimeout(waiting);
  waiting = setTimeout(() => { chosen.text = event.target.value; refresh(); }, 120);
});
byId("clear").addEventListener("click", () => choose({}));
let framed = false;
byId("viewport").addEventListener("scroll", () => {
  if (framed) return;
  framed = true;
  requestAnimationFrame(() => { framed = false; paint(); });
}, { passive: true });
byId("viewport").addEventListener("keydown", (event) => {
  const first = Math.ceil(event.currentTarget.scrollTop / ROW);
  if (event.key === "Enter" && first < visible.length) open(visible[first]);
});
addEventListener("resize", paint);
