'use strict';
// Lays out and draws what the compiler has arranged in layers: `positions` repeats positions.rs.
const BESIDE = 26, BETWEEN = 34, LABEL = 18, CENTERED = 60, MARGIN = 18, HEADING = 30, PASSAGE = 8, SWEEPS = 24, LARGEST = 1500;
const pictures = JSON.parse(document.getElementById('data').textContent);
const $ = (id) => document.getElementById(id);
const svg = $('svg'), graph = $('graph');
let picture = pictures[0], view = { x: 0, y: 0, scale: 1 }, found = [], next = 0, chosen = null, size = [0, 0];

function ascending(wanted) {
  const blocks = [];
  for (const [want, weight] of wanted) {
    let block = [want, weight, 1];
    while (blocks.length && blocks[blocks.length - 1][0] > block[0]) {
      const [before, heavy, count] = blocks.pop(), sum = heavy + block[1];
      block = [(before * heavy + block[0] * block[1]) / sum, sum, count + block[2]];
    }
    blocks.push(block);
  }
  return blocks.flatMap(([mean, , count]) => Array(count).fill(mean));
}

function middles(scene, widths, boxes) {
  const above = Array.from({ length: scene.slots }, () => []), below = above.map(() => []);
  for (const route of scene.routes) {
    for (let at = 1; at < route.length; at++) {
      const [from, to] = [route[at - 1], route[at]];
      if (!below[from].includes(to)) { below[from].push(to); above[to].push(from); }
    }
  }
  const gap = (a, b) => (a >= boxes && b >= boxes ? BESIDE / 2 : BESIDE);
  const x = Array(scene.slots).fill(0);
  for (const layer of scene.layers) {
    let sum = 0;
    layer.forEach((slot, at) => {
      if (at) sum += gap(layer[at - 1], slot);
      x[slot] = sum + widths[slot] / 2;
      sum += widths[slot];
    });
  }
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (let step = 0; step < scene.layers.length; step++) {
      const layer = scene.layers[sweep % 2 ? scene.layers.length - 1 - step : step];
      let offset = 0;
      const offsets = layer.map((slot, at) => {
        if (at) offset += (widths[layer[at - 1]] + widths[slot]) / 2 + gap(layer[at - 1], slot);
        return offset;
      });
      const wanted = layer.map((slot, at) => {
        const near = above[slot].concat(below[slot]);
        const want = near.length ? near.reduce((sum, other) => sum + x[other], 0) / near.length : x[slot];
        return [want - offsets[at], slot >= boxes ? 4 : 1];
      });
      ascending(wanted).forEach((value, at) => { x[layer[at]] = value + offsets[at]; });
    }
  }
  const left = Math.min(...x.map((value, slot) => value - widths[slot] / 2));
  return x.map((value) => value - left);
}

function positions(scene) {
  const boxes = scene.pieces.length;
  const sizes = Array.from({ length: scene.slots }, () => [PASSAGE, 0]);
  const inner = scene.pieces.map((piece, at) => {
    if (!piece.inner || !piece.open) { sizes[at] = [piece.width, piece.height]; return null; }
    const content = positions(piece.inner);
    const width = Math.max(content.width + 2 * MARGIN, piece.titleWidth + 3 * MARGIN);
    sizes[at] = [width, content.height + HEADING + MARGIN];
    return content;
  });
  const room = sizes.map(([width], at) => (at < boxes ? Math.max(width, scene.pieces[at].labelWidth) : width));
  const x = middles(scene, room, boxes), frames = Array(scene.slots);
  const spans = Array(scene.slots);
  let y = 0;
  for (const layer of scene.layers) {
    const high = Math.max(0, ...layer.map((slot) => sizes[slot][1]));
    const label = layer.some((slot) => slot < boxes && scene.pieces[slot].label) ? LABEL : 0;
    for (const slot of layer) {
      const [width, height] = sizes[slot], spare = high - height;
      frames[slot] = { x: x[slot] - width / 2, y: y + (spare > CENTERED ? 0 : spare / 2), width, height };
      spans[slot] = [y, y + high + label];
    }
    y += high + label + BETWEEN;
  }
  const edges = scene.routes.map((route) => {
    const points = [];
    route.forEach((slot, at) => {
      const frame = frames[slot], [top, end] = spans[slot];
      points.push([x[slot], at ? top : frame.y + frame.height]);
      points.push([x[slot], at + 1 === route.length ? frame.y : end]);
    });
    return { points, source: route[0] < boxes, arrow: route[route.length - 1] < boxes };
  });
  const width = Math.max(0, ...x.map((middle, slot) => middle + room[slot] / 2));
  return { width, height: Math.max(0, y - BETWEEN), frames, inner, edges };
}

function make(name, attributes, parent, text) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function drawEdge({ points, source, arrow }, cx, cy, parent) {
  let [x, y] = [points[0][0] + cx, points[0][1] + cy], path = `M${x},${y}`;
  for (let at = 1; at < points.length; at++) {
    const toX = points[at][0] + cx, toY = points[at][1] + cy - (arrow && at + 1 === points.length ? 5 : 0);
    const middle = (y + toY) / 2;
    path += at % 2 === 0 ? `C${x},${middle} ${toX},${middle} ${toX},${toY}` : `L${toX},${toY}`;
    [x, y] = [toX, toY];
  }
  make('path', { class: 'edge', d: path }, parent);
  if (!source) make('circle', { class: 'tip', cx: points[0][0] + cx, cy: points[0][1] + cy, r: 3 }, parent);
  if (arrow) make('path', { class: 'tip', d: `M${x - 3.5},${y}L${x + 3.5},${y}L${x},${y + 5}Z` }, parent);
}

function draw(scene, positions, cx, cy, parent) {
  for (const edge of positions.edges) drawEdge(edge, cx, cy, parent);
  scene.pieces.forEach((piece, at) => {
    const frame = positions.frames[at], x = frame.x + cx, y = frame.y + cy, middle = x + frame.width / 2;
    const group = make('g', { class: piece.class + (piece.inner ? ' folds' : '') }, parent);
    piece.element = group;
    piece.middle = [middle, y + Math.min(frame.height / 2, 40)];
    make('title', {}, group, piece.tip);
    if (positions.inner[at]) {
      make('rect', { class: 'area', x, y, width: frame.width, height: frame.height, rx: 8 }, group);
      make('text', { class: 'area-name', x: x + 12, y: y + 20 }, group, '▾ ' + piece.title);
      const inside = make('g', { class: 'open' }, group);
      draw(piece.inner, positions.inner[at], x + (frame.width - positions.inner[at].width) / 2, y + HEADING, inside);
    } else {
      const rx = piece.round ? frame.height / 2 : 6;
      for (const shift of piece.repeats > 1 ? [6, 3, 0] : [0]) {
        make('rect', { class: 'box', x: x + shift, y: y - shift, width: frame.width, height: frame.height, rx }, group);
      }
      make('text', { class: 'name', x: middle, y: y + 17.5 }, group, piece.title);
      piece.details.forEach((line, row) => {
        make('text', { class: 'detail', x: middle, y: y + 32.5 + 15 * row }, group, line);
      });
      if (piece.inner) make('text', { class: 'fold', x: x + 6, y: y + 16 }, group, '▸');
    }
    if (piece.label) make('text', { class: 'size', x: middle, y: y + frame.height + 14 }, group, piece.label);
    group.addEventListener('click', (event) => {
      event.stopPropagation();
      if (moved) return;
      if (piece.inner) {
        const before = piece.middle;
        piece.open = !piece.open;
        show();
        // The box stays under the pointer.
        view.x += (before[0] - piece.middle[0]) * view.scale;
        view.y += (before[1] - piece.middle[1]) * view.scale;
        move();
      }
      choose(piece);
    });
  });
}

function show() {
  graph.replaceChildren();
  const root = positions(picture.scene);
  size = [root.width, root.height];
  draw(picture.scene, root, 0, 0, graph);
  mark();
}

function move() { graph.setAttribute('transform', `translate(${view.x},${view.y}) scale(${view.scale})`); }

function fit() {
  const { width, height } = svg.getBoundingClientRect(), margin = 30;
  // Letters stay legible: a long graph begins at its top.
  const whole = Math.min((width - 2 * margin) / size[0], (height - 2 * margin) / size[1], 1.4);
  view.scale = Math.max(whole, Math.min(0.55, (width - 2 * margin) / size[0]));
  view.x = (width - size[0] * view.scale) / 2;
  view.y = Math.max(margin, (height - size[1] * view.scale) / 2);
  move();
}

function each(scene, path, visit) {
  for (const piece of scene.pieces) {
    visit(piece, path);
    if (piece.inner) each(piece.inner, [...path, piece], visit);
  }
}

function count(scene) {
  return scene.pieces.reduce((sum, piece) => sum + 1 + (piece.inner ? count(piece.inner) : 0), 0);
}

function fold(open) {
  if (open && count(picture.scene) > LARGEST && !confirm('This is a large graph. Draw all of it?')) return;
  each(picture.scene, [], (piece) => { piece.open = open && !!piece.inner; });
  show();
  fit();
}

function choose(piece) {
  chosen = piece;
  $('tip').textContent = piece ? piece.tip : '';
  mark();
}

function mark() {
  const marked = new Set(found.map(([piece]) => piece));
  each(picture.scene, [], (piece) => {
    if (!piece.element) return;
    piece.element.classList.toggle('found', marked.has(piece));
    piece.element.classList.toggle('chosen', piece === chosen);
  });
}

function search() {
  const text = $('search').value.trim().toLowerCase();
  found = [];
  next = 0;
  if (text) {
    each(picture.scene, [], (piece, path) => {
      const words = (piece.title + '\n' + piece.tip).toLowerCase();
      if (words.includes(text)) found.push([piece, path]);
    });
  }
  $('hits').textContent = text ? `${found.length} found` : '';
  mark();
}

function go() {
  if (!found.length) return;
  const [piece, path] = found[next++ % found.length];
  path.forEach((outer) => { outer.open = true; });
  show();
  const { width, height } = svg.getBoundingClientRect();
  view.scale = Math.max(view.scale, 0.8);
  view.x = width / 2 - piece.middle[0] * view.scale;
  view.y = height / 2 - piece.middle[1] * view.scale;
  move();
  choose(piece);
  $('hits').textContent = `${((next - 1) % found.length) + 1} of ${found.length}`;
}

function start(which) {
  picture = pictures[which];
  document.title = $('title').textContent = picture.title;
  $('under').textContent = picture.under;
  chosen = null;
  $('tip').textContent = '';
  found = [];
  show();
  fit();
}

let from = null, moved = false;
svg.addEventListener('pointerdown', (event) => { from = [event.clientX, event.clientY]; moved = false; });
window.addEventListener('pointermove', (event) => {
  if (!from || !event.buttons) return;
  const [dx, dy] = [event.clientX - from[0], event.clientY - from[1]];
  if (!moved && Math.hypot(dx, dy) < 4) return;
  moved = true;
  svg.classList.add('moving');
  view.x += dx;
  view.y += dy;
  from = [event.clientX, event.clientY];
  move();
});
window.addEventListener('pointerup', () => { from = null; svg.classList.remove('moving'); });
svg.addEventListener('click', () => { if (!moved) choose(null); });
svg.addEventListener('wheel', (event) => {
  event.preventDefault();
  const { left, top } = svg.getBoundingClientRect();
  const [x, y] = [event.clientX - left, event.clientY - top], factor = Math.exp(-event.deltaY * 0.0015);
  const scale = Math.min(Math.max(view.scale * factor, 0.02), 6);
  view.x = x - ((x - view.x) * scale) / view.scale;
  view.y = y - ((y - view.y) * scale) / view.scale;
  view.scale = scale;
  move();
}, { passive: false });
$('search').addEventListener('input', search);
$('search').addEventListener('keydown', (event) => { if (event.key === 'Enter') go(); });
$('open').addEventListener('click', () => fold(true));
$('close').addEventListener('click', () => fold(false));
$('fit').addEventListener('click', fit);
pictures.forEach(({ name }) => $('picture').append(new Option(name)));
$('picture').hidden = pictures.length < 2;
$('picture').addEventListener('change', (event) => start(event.target.selectedIndex));
start(0);
