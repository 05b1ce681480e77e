// Why tools time out: one map and one trajectory at a time, and the words of one instance.
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

// The columns of a chart. Their words move into the box below, which needs no patience.
function columnsOf(box) {
  const columns = [...box.querySelectorAll(".hit")];
  for (const column of columns) {
    const title = column.querySelector("title");
    column.words = title.textContent;
    title.remove();
  }
  return columns;
}

function readOut(column, before) {
  if (before) before.classList.remove("on");
  column.classList.add("on");
  byId("readout").replaceChildren(...column.words.split("\n").map((line) => element("div", {}, line)));
}

function keepInSight(box, column, labels) {
  const [seen, place] = [box.getBoundingClientRect(), column.getBoundingClientRect()];
  const free = labels.getBoundingClientRect().right;
  if (place.left < free || place.right > seen.right) box.scrollLeft += place.left - (free + seen.right) / 2;
}

for (const box of paths) {
  const columns = columnsOf(box);
  const labels = box.querySelector(".labels");
  box.addEventListener("scroll", () => labels.setAttribute("transform", `translate(${box.scrollLeft} 0)`), { passive: true });
  let at = -1;
  const moves = { ArrowLeft: () => at - 1, ArrowRight: () => at + 1, Home: () => 0, End: () => columns.length - 1 };
  const go = (to) => {
    const before = columns[at];
    at = Math.min(columns.length - 1, Math.max(0, to));
    readOut(columns[at], before);
  };
  box.addEventListener("mouseover", (event) => {
    const to = columns.indexOf(event.target.closest(".hit"));
    if (to >= 0) go(to);
  });
  box.addEventListener("focus", () => { if (at < 0 && columns.length) go(0); });
  box.addEventListener("keydown", (event) => {
    if (!moves[event.key] || !columns.length || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    go(moves[event.key]());
    keepInSight(box, columns[at], labels);
  });
}

const pathChoice = byId("path-choice");
if (pathChoice)
  pathChoice.addEventListener("change", () => paths.forEach((box, n) => (box.hidden = n !== +pathChoice.value)));
