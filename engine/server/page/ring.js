// The picture of a ring at work (../ring-state.ts).
const element = (id) => document.getElementById(id);

/** Events that are shown. */
const EVENTS = 4;
const COLOURS = 6;
const DOING = { computing: 'computes', waiting: 'waits for its disk', reading: 'reads weights', sending: 'sends' };

const percent = (share) => `${Math.round(100 * share)} %`;
const gibibytes = (bytes) => `${(bytes / 2 ** 30).toFixed(bytes < 10 * 2 ** 30 ? 2 : 0)} GiB`;
const milliseconds = (seconds) => `${(1000 * seconds).toFixed(seconds < 0.1 ? 1 : 0)} ms`;

/** Puts as many children into a list as there are, and keeps those that it has: they then move smoothly. */
function children(list, count, create) {
  while (list.children.length > count) list.lastChild.remove();
  while (list.children.length < count) list.append(create());
  return [...list.children];
}

function part(name, className, content = '') {
  const node = document.createElement(name);
  node.className = className;
  node.textContent = content;
  return node;
}

function deviceCard() {
  const card = part('li', 'device');
  card.append(part('h2', ''), part('p', 'holds'), part('p', 'memory'));
  card.append(bar('memory-bar'));
  for (const [kind, label] of Object.entries(DOING)) {
    const row = part('p', `doing ${kind}`);
    row.append(part('span', 'label', label), bar(kind), part('span', 'value'));
    card.append(row);
  }
  return card;
}

function bar(className) {
  const outer = part('span', `bar ${className}`);
  outer.append(part('span', 'filled'));
  return outer;
}

function fill(outer, share) {
  outer.firstChild.style.inlineSize = `${100 * Math.min(1, share)}%`;
}

/** Layers that follow each other are named by their ends. */
const layersText = ({ cpuLayers, gpuLayers }) => {
  const all = cpuLayers + gpuLayers;
  if (all === 0) return 'no layers';
  const where = gpuLayers === 0 ? '' : cpuLayers === 0 ? ' on its GPU' : `, ${gpuLayers} on its GPU`;
  return `${all} ${all === 1 ? 'layer' : 'layers'}${where}`;
};

function showDevice(card, device, colour) {
  const { name, present, memory, activity } = device;
  card.className = `device colour-${colour}${present ? '' : ' lost'}`;
  card.querySelector('h2').textContent = name;
  card.querySelector('.holds').textContent = present ? layersText(device) : 'lost';
  card.querySelector('.memory').textContent =
    memory === null ? 'memory unknown' : `holds ${gibibytes(memory.held)} of ${gibibytes(memory.limit)}`;
  fill(card.querySelector('.memory-bar'), memory === null ? 0 : memory.held / memory.limit);
  for (const kind of Object.keys(DOING)) {
    const row = card.querySelector(`.doing.${kind}`);
    fill(row.querySelector('.bar'), activity[kind]);
    row.querySelector('.value').textContent = percent(activity[kind]);
  }
}

/** @param state a RingState */
export function showRing(state) {
  const { devices, windows, events, texts, predictedSeconds, measuredSeconds } = state;
  element('ring').hidden = false;
  const colours = new Map(devices.map(({ name }, index) => [name, index % COLOURS]));
  const cards = children(element('devices'), devices.length, deviceCard);
  for (const [index, device] of devices.entries()) showDevice(cards[index], device, colours.get(device.name));

  const shown = windows.filter(({ from, to }) => to > from);
  const pieces = children(element('layers'), shown.length, () => part('span', ''));
  for (const [index, { device, from, to }] of shown.entries()) {
    pieces[index].className = `colour-${colours.get(device)}`;
    pieces[index].style.flexGrow = to - from;
    pieces[index].title = `${device}: layers ${from} to ${to - 1}`;
    pieces[index].textContent = to - from === 1 ? from : `${from}–${to - 1}`;
  }
  const order = shown.map(({ device, from, to }) => `${from} to ${to - 1} on ${device}`).join(', ');
  element('layers').setAttribute('aria-label', `Layers in the order of a token: ${order}`);

  const predicted = predictedSeconds === null ? 'unknown, without hardware facts' : milliseconds(predictedSeconds);
  const seen = measuredSeconds === null ? '; nothing is written now' : `, measured ${milliseconds(measuredSeconds)}`;
  const together = texts > 1 ? `${texts} texts at once` : 'one text';
  element('pace').textContent = `A token of ${together}: predicted ${predicted}${seen}`;

  const newest = events.slice(-EVENTS).reverse();
  const lines = children(element('events'), newest.length, () => part('li', ''));
  for (const [index, { at, line }] of newest.entries())
    lines[index].textContent = `${new Date(at).toLocaleTimeString()} ${line}`;
}
