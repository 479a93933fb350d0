// A pad to draw on, and the answers of the module for the device that is chosen.

const NAMES = { flex: "the CPU", webgpu: "WebGPU" };

// The width of a stroke beside the side of the paper.
const PEN = 0.07;

const find = (id) => document.getElementById(id);
const pad = find("pad");
const panel = document.querySelector(".answer");
const bars = [...Array(10).keys()].map(bar);

// Strokes of points, x and y from 0 to 1.
const strokes = [];
let isDown = false;
let device = null;
let isBusy = false;
let isStale = false;

// Devices

const opened = new Map();

/** The module for a device, fetched once, and its model. */
function open(name) {
  if (!opened.has(name)) opened.set(name, load(name));
  return opened.get(name);
}

async function load(name) {
  const module = await import(`./${name}/web.js`);
  await module.default();
  return { name, picture: module.picture, reader: await module.Reader.open() };
}

async function choose(name) {
  document.querySelector(`[name=device][value=${name}]`).checked = true;
  device = null;
  panel.ariaBusy = "true";
  say(opened.has(name) ? "" : `Loading the model for ${NAMES[name]}`);
  try {
    const loaded = await open(name);
    if (document.querySelector("[name=device]:checked").value !== name) return;
    device = loaded;
    await read();
  } catch (problem) {
    opened.delete(name);
    fail(problem);
  }
}

async function start() {
  const wanted = new URLSearchParams(location.search).get("device");
  if (!(wanted in NAMES)) choose("flex");
  const adapter = await navigator.gpu?.requestAdapter().catch(() => null);
  const choice = document.querySelector("[value=webgpu]");
  choice.disabled = !adapter;
  choice.parentElement.title = adapter ? "" : "This browser offers no adapter";
  if (wanted in NAMES) choose(wanted === "webgpu" && !adapter ? "flex" : wanted);
}

// Answers

/** Answers the strokes there are, and again if they have changed by then. */
async function read() {
  isStale = true;
  if (isBusy) return;
  isBusy = true;
  panel.ariaBusy = "true";
  try {
    while (isStale && device) {
      isStale = false;
      await answer(device);
    }
  } catch (problem) {
    fail(problem);
  }
  isBusy = false;
  panel.ariaBusy = String(!device);
}

async function answer({ name, picture, reader }) {
  const isEmpty = !strokes.length;
  const begin = performance.now();
  const pixels = picture(new Float32Array(strokes.flat(2)), new Uint32Array(strokes.map((stroke) => stroke.length)));
  const probabilities = await reader.answer(pixels);
  const { duration } = performance.measure("answer", { start: begin });
  see(pixels);
  show(isEmpty ? null : probabilities);
  say(`${isEmpty ? "Ready" : "Answered"} in ${duration.toFixed(duration < 10 ? 1 : 0)} ms on ${NAMES[name]}`);
}

function show(probabilities) {
  const best = probabilities ? probabilities.indexOf(Math.max(...probabilities)) : -1;
  const text = best < 0 ? "–" : String(best);
  // A live region is read out when it is written, also with the same text.
  if (find("digit").textContent !== text) find("digit").textContent = text;
  find("sure").textContent = best < 0 ? "Draw something" : sure(probabilities[best]);
  bars.forEach((item, digit) => {
    const share = probabilities?.[digit] ?? 0;
    item.classList.toggle("is-best", digit === best);
    item.style.setProperty("--share", share);
    item.lastChild.textContent = probabilities ? `${(100 * share).toFixed(1)} %` : "";
  });
}

function sure(probability) {
  if (probability > 0.95) return "Sure";
  return probability > 0.6 ? "Quite sure" : "Not so sure";
}

/** The picture that the model gets, white on black. */
function see(pixels) {
  const image = new ImageData(28, 28);
  pixels.forEach((ink, at) => image.data.set([255 * ink, 255 * ink, 255 * ink, 255], 4 * at));
  find("picture").getContext("2d").putImageData(image, 0, 0);
}

function say(text) {
  find("time").className = "";
  find("time").textContent = text;
}

function fail(problem) {
  console.error(problem);
  find("time").className = "failed";
  find("time").textContent = `No answer: ${problem?.message ?? problem}`;
}

function bar(_, digit) {
  const item = document.createElement("li");
  item.append(...["b", "i", "span"].map((tag) => document.createElement(tag)));
  item.firstChild.textContent = digit;
  find("bars").append(item);
  return item;
}

// Drawing

function draw() {
  const side = Math.round(pad.clientWidth * devicePixelRatio);
  if (pad.width !== side) pad.width = pad.height = side;
  const pen = pad.getContext("2d");
  pen.clearRect(0, 0, side, side);
  pen.lineWidth = PEN * side;
  pen.lineCap = pen.lineJoin = "round";
  pen.strokeStyle = getComputedStyle(pad).color;
  for (const stroke of strokes) {
    const [first, ...rest] = stroke.map(([x, y]) => [x * side, y * side]);
    pen.beginPath();
    pen.moveTo(...first);
    pen.lineTo(...first);
    // Curves through the middles between points.
    rest.forEach(([x, y], at) => {
      const next = rest[at + 1] ?? [x, y];
      pen.quadraticCurveTo(x, y, (x + next[0]) / 2, (y + next[1]) / 2);
    });
    pen.stroke();
  }
}

function changed() {
  document.body.classList.toggle("is-drawn", strokes.length > 0);
  find("undo").disabled = find("clear").disabled = !strokes.length;
  draw();
  read();
}

function point(event) {
  const { left, top, width, height } = pad.getBoundingClientRect();
  return [(event.clientX - left) / width, (event.clientY - top) / height];
}

function undo() {
  strokes.pop();
  changed();
}

function clear() {
  strokes.length = 0;
  performance.clearMeasures("answer");
  changed();
}

pad.addEventListener("pointerdown", (event) => {
  if (!event.isPrimary || event.button !== 0) return;
  pad.setPointerCapture(event.pointerId);
  isDown = true;
  strokes.push([point(event)]);
  changed();
});
pad.addEventListener("pointermove", (event) => {
  if (!isDown || !event.isPrimary) return;
  const passed = event.getCoalescedEvents?.() ?? [];
  strokes.at(-1)?.push(...(passed.length ? passed : [event]).map(point));
  changed();
});
for (const end of ["pointerup", "pointercancel"]) pad.addEventListener(end, () => (isDown = false));

addEventListener("keydown", (event) => {
  if (event.key === "Escape") clear();
  else if (event.key.toLowerCase() === "z" && !isDown) undo();
});
find("undo").addEventListener("click", undo);
find("clear").addEventListener("click", clear);
find("devices").addEventListener("change", (event) => choose(event.target.value));
new ResizeObserver(draw).observe(pad);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

start();
