// One task in full, beside the table.
const drawer = byId("drawer");

function open(t) {
  opened = t;
  drawer.hidden = false;
  drawer.replaceChildren(...drawerParts(t));
  drawer.scrollTop = 0;
  paint();
}

function close() {
  opened = -1;
  drawer.hidden = true;
  paint();
}

function step(by) {
  const at = visible.indexOf(opened) + by;
  if (at < 0 || at >= visible.length) return;
  const box = byId("viewport");
  if (at * ROW < box.scrollTop || (at + 3) * ROW > box.scrollTop + box.clientHeight) box.scrollTop = at * ROW - box.clientHeight / 2;
  open(visible[at]);
}

// A list of what is known; facts without a value are left out.
function facts(pairs) {
  return element("dl", {}, ...pairs.filter(([, value]) => value !== "" && value !== undefined && value !== null)
    .flatMap(([name, value]) => [element("dt", {}, term(name)), element("dd", {}, value)]));
}

const inside = (base, path) => base + "/" + path.split("/").map(encodeURIComponent).join("/");
const fileLink = (href, text) => element("a", { href, target: "_blank", rel: "noopener" }, text);

function drawerParts(t) {
  const i = task.instance[t];
  const found = data.details[t] || {};
  const question = data.questions[i] || {};
  return [
    element("div", { class: "bar-top" }, chip(cell.outcome(t)),
      element("span", {},
        element("button", { type: "button", title: "previous (k)", onclick: () => step(-1) }, "↑"), " ",
        element("button", { type: "button", title: "next (j)", onclick: () => step(1) }, "↓"), " ",
        element("button", { type: "button", title: "close (Esc)", onclick: close }, "×"))),
    element("h3", {}, cell.instance(t)),
    element("p", { class: "verdict-line" }, `${cell.verifier(t)}: ${data.meaning.outcome[cell.outcome(t)]}`),
    ...nextPart(found.next), ...runPart(t, found), ...witnessPart(t, found), ...truthPart(i, question), ...questionPart(i, question),
    ...othersPart(t), ...logPart(t, found),
  ];
}

// For a wrong answer: the network's outputs, and commands to copy.
function nextPart(next) {
  if (!next) return [];
  const rows = (next.outputs || []).map((row) => element("tr", {}, ...row.map((text, n) => element(n ? "td" : "th", {}, text))));
  const command = (label, text) => (text ? element("div", { class: "command" }, element("span", { class: "quiet" }, label),
    element("pre", {}, text), element("button", { type: "button", class: "copy" }, "copy")) : "");
  return [
    element("h4", {}, "What to do next"),
    rows.length ? element("table", { class: "outputs" }, element("caption", {}, `The network ${next.where}`),
      element("thead", {}, element("tr", {}, ...["output", "in real arithmetic", "in ONNX Runtime (float32)"].map((text) => element("th", {}, text)))),
      element("tbody", {}, ...rows)) : "",
    next.leftOut ? element("p", { class: "quiet" }, `and ${whole(next.leftOut)} more outputs`) : "",
    command("See it again: the command that gave this answer", next.reproduce),
    command("Make it small: the smallest question that it still gets wrong", next.shrink),
    next.remark ? element("p", { class: "quiet" }, next.remark) : "",
  ];
}

function runPart(t, found) {
  const counted = cell.ending(t) === "answered";
  const said = cell.verdict(t) && `${cell.verdict(t)}${counted ? "" : ", which does not count"}`;
  const repeats = task.repeats[t] > 1 && `${task.repeats[t]}${task.disagree[t] ? ", which do not all agree" : ""}`;
  return [
    element("h4", {}, "Run"),
    facts([
      ["verifier", `${cell.verifier(t)} ${words.version[task.verifier[t]]}`],
      ["ending", cell.ending(t) + (data.remarks[t] ? `: ${data.remarks[t]}` : "")],
      ["says", said],
      ["time", `${secondsText(task.wall[t])} s wall, ${secondsText(task.cpu[t])} s CPU`],
      ["memory", task.memory[t] ? `${whole(Math.round(task.memory[t]))} MB` : ""],
      ["repeats", repeats || ""],
    ]),
    found.command ? element("pre", { title: "the exact command" }, found.command) : "",
    data.details[t] ? "" : element("p", { class: "quiet" }, "Command and witness of this task: ",
      fileLink(inside(data.runs[task.run[t]], "results.jsonl"), `${data.runPaths[task.run[t]]}/results.jsonl`)),
  ];
}

function witnessPart(t, found) {
  const kind = cell.witness(t);
  if (!kind) return [];
  return [
    element("h4", {}, "Witness"),
    facts([["class", element("span", {}, element("b", {}, kind), ": " + data.meaning.witness[kind])],
      ...(found.check || [])]),
    found.witness ? element("pre", {}, found.witness) : "",
  ];
}

function truthPart(i, question) {
  const answer = words.answer[instance.answer[i]];
  if (!answer) return [element("h4", {}, "Truth"), element("p", { class: "quiet" }, "none is known")];
  const guard = words.group[instance.group[i]];
  const bound = answer === "robust" ? "at least " : "at most ";
  return [
    element("h4", {}, "Truth"),
    facts([
      ["answer", element("b", {}, answer)],
      ["margin", bound + instance.margin[i] + (answer === "robust" ? " everywhere in the box" : " at the witness")],
      ["guard", guard === "real" ? "real: a knife-edge that only real arithmetic decides" : "float32: holds in floating point too"],
      ["certificate", words.kind[instance.kind[i]]],
      ["checker", data.checked[i] || "not asked for this report (run assay check)"],
      ["counterexample", question.truthWitness && element("code", {}, question.truthWitness)],
    ]),
  ];
}

function questionPart(i, question) {
  const file = (part) => {
    const path = instance[part][i] === 1 ? `${part}/${instance.name[i]}.${part}` : instance[part][i];
    return path ? fileLink(inside(data.benchmark, path), path) : "";
  };
  const twin = question.twin === undefined ? -1 : instance.name.indexOf(question.twin);
  const row = data.profile[i] || [];
  return [
    element("h4", {}, "Question"),
    facts([
      ["family", words.family[instance.family[i]]],
      ["network", question.network],
      ["files", element("span", {}, file("onnx"), " ", file("vnnlib"))],
      ["limit", instance.limit[i] ? `${instance.limit[i]} s` : ""],
      ["parameters", question.parameters],
      ["seed", question.seed === undefined ? "" : String(question.seed)],
      ["twin", twin < 0 ? question.twin : element("a", { href: "#tasks", onclick: () => choose({ text: question.twin }) }, question.twin)],
      ...row.map((value, n) => [words.profile[n], value]),
    ]),
    question.property ? element("pre", { title: "the assertions of the VNN-LIB file" }, question.property) : "",
  ];
}

function othersPart(t) {
  const rows = [];
  for (let other = 0; other < count; other++)
    if (task.instance[other] === task.instance[t] && other !== t)
      rows.push(element("tr", { "data-task": other, onclick: () => open(other) },
        element("td", {}, cell.verifier(other)), element("td", {}, chip(cell.outcome(other))),
        element("td", { class: "n" }, secondsText(task.wall[other]) + " s"), element("td", {}, cell.witness(other))));
  return rows.length ? [element("h4", {}, "Others on this instance"), element("table", {}, element("tbody", {}, ...rows))] : [];
}

function logPart(t, found) {
  const usual = `logs/${encodeURIComponent(words.name[task.verifier[t]])}/${encodeURIComponent(`${cell.instance(t)}.${task.repeat[t]}.log`)}`;
  const href = task.log[t] ? `${data.runs[task.run[t]]}/${usual}` : data.logsElsewhere[t];
  if (!href) return [element("h4", {}, "Log"), element("p", { class: "quiet" }, "none was kept")];
  const shown = (found.log || "").trim();
  const cut = found.logBytes ? `The end of ${whole(found.logBytes)} bytes. ` : "";
  return [
    element("h4", {}, "Log"),
    shown ? element("pre", {}, shown) : "",
    element("p", { class: "quiet" }, cut, fileLink(href, "open the whole log")),
  ];
}

addEventListener("keydown", (event) => {
  if (drawer.hidden || event.target.closest("input,select") || event.ctrlKey || event.metaKey) return;
  if (event.key === "Escape") close();
  else if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
});

// Links from the verdicts into the table.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-instance],a[data-filter]");
  if (!link) return;
  if (link.dataset.filter !== undefined) {
    const outcomes = link.dataset.outcomes.split("|").map((name) => words.outcome.indexOf(name));
    const verifier = link.dataset.filter && String(words.verifier.indexOf(link.dataset.filter));
    choose({ verifier, outcomes: new Set(outcomes) });
    return;
  }
  event.preventDefault();
  const v = words.verifier.indexOf(link.dataset.verifier);
  const i = instance.name.indexOf(link.dataset.instance);
  for (let t = 0; t < count; t++) if (task.verifier[t] === v && task.instance[t] === i) return open(t);
});
