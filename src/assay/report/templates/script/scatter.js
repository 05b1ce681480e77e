// Two tools against each other: time on the same instances, unsolved ones on the limit.
const LEFT = 58, TOP = 24;
const side = () => Math.max(180, Math.min(400, byId("scatter").clientWidth - LEFT - 18) || 400);
const limit = Math.max(0.1, ...[...new Set(instance.limit)]);
let chartGroup = words.group.findIndex((_, n) => instance.group.includes(n));
const pick = { x: byId("scatter-x"), y: byId("scatter-y") };

const dotColor = { robust: "--proved", violated: "--falsified", "": "--tool-6" };

function drawScatter() {
  const [first, second] = [+pick.x.value, +pick.y.value];
  const SIDE = side();
  const times = new Map();
  for (let t = 0; t < count; t++) {
    const v = task.verifier[t];
    if ((v !== first && v !== second) || instance.group[task.instance[t]] !== chartGroup) continue;
    const pair = times.get(task.instance[t]) || {};
    pair[v] = t;
    times.set(task.instance[t], pair);
  }
  const time = (t) => (isSolved[task.outcome[t]] ? Math.min(task.wall[t], limit) : limit);
  const pairs = [...times.values()].filter((p) => p[first] !== undefined && p[second] !== undefined)
    .filter((p) => isSolved[task.outcome[p[first]]] || isSolved[task.outcome[p[second]]]);
  let least = limit;
  for (const p of pairs) least = Math.min(least, time(p[first]), time(p[second]));
  const round = [1, 2, 5].flatMap((m) => [-2, -1, 0, 1, 2, 3, 4, 5].map((p) => m * 10 ** p)).sort((a, b) => a - b);
  const low = Math.max(...round.filter((s) => s <= Math.max(0.01, least)));
  const high = Math.min(...round.filter((s) => s >= limit && s > low));
  const far = Math.log10(high / low) > 2;
  const ticks = round.filter((s) => s >= low && s <= high && (!far || Number.isInteger(Math.round(1e6 * Math.log10(s)) / 1e6)));
  const place = (s) => Math.min(1, Math.max(0, Math.log10(Math.max(s, low) / low) / Math.log10(high / low)));
  const x = (s) => LEFT + place(s) * SIDE, y = (s) => TOP + (1 - place(s)) * SIDE;
  const svg = drawn("svg", { viewBox: `0 0 ${LEFT + SIDE + 18} ${TOP + SIDE + 48}`, class: "chart", role: "img" });
  const line = (kind, x1, y1, x2, y2) => svg.append(drawn("line", { class: kind, x1, y1, x2, y2 }));
  const text = (kind, at, down, anchor, words) =>
    svg.append(drawn("text", { class: kind, x: at, y: down, "text-anchor": anchor }, words));
  for (const s of ticks) {
    line("grid", x(s), TOP, x(s), TOP + SIDE);
    line("grid", LEFT, y(s), LEFT + SIDE, y(s));
    text("", x(s), TOP + SIDE + 17, "middle", String(+s.toPrecision(1)));
    text("", LEFT - 7, y(s) + 4, "end", String(+s.toPrecision(1)));
  }
  line("diagonal", LEFT, TOP + SIDE, LEFT + SIDE, TOP);
  line("limit", x(limit), TOP, x(limit), TOP + SIDE);
  line("limit", LEFT, y(limit), LEFT + SIDE, y(limit));
  text("", x(limit) - 5, TOP + 13, "end", "limit");
  text("title", LEFT + SIDE / 2, TOP + SIDE + 37, "middle", `${words.verifier[first]}, seconds`);
  text("title", LEFT - 46, TOP - 9, "start", `${words.verifier[second]}, seconds`);
  const spots = new Map();
  for (const p of pairs) {
    const at = [Math.round(x(time(p[first])) / 2) * 2, Math.round(y(time(p[second])) / 2) * 2];
    const spot = spots.get(at.join()) || { at, tasks: [] };
    spot.tasks.push(p[first]);
    spots.set(at.join(), spot);
  }
  for (const { at, tasks } of spots.values()) {
    const r = Math.min(9, 3.5 + Math.log2(tasks.length) / 2), truth = cell.truth(tasks[0]);
    const style = `fill:var(${dotColor[truth]})`;
    const dot = truth === "violated"
      ? drawn("rect", { class: "dot", x: at[0] - r, y: at[1] - r, width: 2 * r, height: 2 * r, style })
      : drawn("circle", { class: "dot", cx: at[0], cy: at[1], r, style });
    const more = tasks.length > 1 ? ` and ${tasks.length - 1} more` : "";
    dot.append(drawn("title", {}, `${cell.instance(tasks[0])} (${cell.family(tasks[0])})${more}`));
    dot.addEventListener("click", () => open(tasks[0]));
    svg.append(dot);
  }
  byId("scatter").replaceChildren(svg);
  byId("scatter-note").textContent = pairs.length
    ? `${whole(pairs.length)} instances that at least one of them solved; below the diagonal ${words.verifier[second]} is faster. Circles (green) are robust, squares (blue) violated.`
    : "Neither of them solved an instance that both ran.";
}

if (words.verifier.length > 1) {
  for (const select of Object.values(pick)) {
    words.verifier.forEach((name, n) => select.append(element("option", { value: n }, name)));
    select.addEventListener("change", drawScatter);
  }
  const solved = new Array(words.verifier.length).fill(0);
  for (let t = 0; t < count; t++) solved[task.verifier[t]] += isSolved[task.outcome[t]];
  const best = solved.map((_, n) => n).sort((a, b) => solved[b] - solved[a]);
  pick.x.value = best[0];
  pick.y.value = best[1];
  drawScatter();
  addEventListener("resize", drawScatter);
}

// Both charts show one group of instances at a time.
for (const button of document.querySelectorAll("#cactus-tabs button"))
  button.addEventListener("click", () => {
    document.querySelectorAll(".cactus").forEach((box, n) => (box.hidden = n !== +button.dataset.box));
    for (const other of button.parentNode.children) other.setAttribute("aria-pressed", other === button);
    chartGroup = words.group.indexOf(button.dataset.group);
    if (words.verifier.length > 1) drawScatter();
  });
header();
refresh();
