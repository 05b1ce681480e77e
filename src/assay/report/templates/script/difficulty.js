// Why tools leave instances unsolved: one map and one trajectory at a time, and the words of one instance.
// All of them stand in the page already; choosing only shows one and hides the others.
const mapPick = { verifier: byId("map-verifier"), pair: byId("map-pair") };

function showMap() {
  for (const box of document.querySelectorAll(".why-map"))
    box.hidden = box.dataset.verifier !== mapPick.verifier.value || box.dataset.pair !== mapPick.pair.value;
}

if (mapPick.pair) {
  mapPick.verifier.addEventListener("change", showMap);
  mapPick.pair.addEventListener("change", showMap);
  showMap();
  for (const button of document.querySelectorAll(".show-map"))
    button.addEventListener("click", () => {
      mapPick.verifier.value = button.dataset.verifier;
      mapPick.pair.value = button.dataset.pair;
      showMap();
      byId("why-maps").scrollIntoView({ block: "nearest" });
      mapPick.pair.focus({ preventScroll: true });
    });
}

const paths = [...document.querySelectorAll(".why-path")];
const whyWords = paths.length ? JSON.parse(byId("why-words").textContent) : [];

// A chart of instances side by side: one column lights up, and its words stand in the box below.
function followInstances(box) {
  const [svg, column, labels] = ["svg", ".column", ".labels"].map((part) => box.querySelector(part));
  const points = column.dataset.points.split(" ").filter(Boolean).map(Number);
  const [start, width] = ["x", "width"].map((name) => +column.getAttribute(name));
  let at = -1;

  const go = (to) => {
    at = Math.min(points.length - 1, Math.max(0, to));
    column.setAttribute("x", start + at * width);
    column.classList.add("on");
    byId("readout").replaceChildren(...whyWords[points[at]].map((line) => element("div", {}, line)));
  };
  const point = (event) => {
    const place = svg.getBoundingClientRect();
    const x = ((event.clientX - place.left) * svg.viewBox.baseVal.width) / place.width;
    const to = Math.floor((x - start) / width);
    if (to >= 0 && to < points.length && to !== at) go(to);
  };
  const keepInSight = () => {
    const [seen, here, covered] = [box, column, labels].map((part) => part.getBoundingClientRect());
    if (here.left < covered.right || here.right > seen.right)
      box.scrollLeft += here.left - (covered.right + seen.right) / 2;
  };
  const moves = { ArrowLeft: () => at - 1, ArrowRight: () => at + 1, Home: () => 0, End: () => points.length - 1 };

  box.addEventListener("pointermove", point);
  box.addEventListener("pointerdown", point);
  box.addEventListener("focus", () => { if (at < 0 && points.length) go(0); });
  box.addEventListener("keydown", (event) => {
    if (!moves[event.key] || !points.length || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    go(moves[event.key]());
    keepInSight();
  });
  box.addEventListener("scroll", () => labels.setAttribute("transform", `translate(${box.scrollLeft} 0)`), { passive: true });
}
paths.forEach(followInstances);

const pathChoice = byId("path-choice");
if (pathChoice)
  pathChoice.addEventListener("change", () => paths.forEach((box, n) => (box.hidden = n !== +pathChoice.value)));
