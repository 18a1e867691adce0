// The timeline of the units: zoomed by buttons, keys, wheel and finger. It draws single commands where they
// fit, and the share of busy cycles where many share a pixel.
"use strict";

const LEAST_WINDOW = 20;  // cycles
const LABEL_PIXELS = 112;

// Rows {lane, x, x2, share, ...} of a lane in [from, to): its spans, or one row for each of `bins` steps.
function visibleRows(name, lane, from, to, bins, layers) {
  const first = upperBound(lane.end, from);
  const last = upperBound(lane.begin, to - 1e-9);
  if (last - first <= 1.5 * bins) return spanRows(name, lane, first, last, from, to, layers);
  return binRows(name, lane, first, last, from, to, bins);
}

function spanRows(name, lane, first, last, from, to, layers) {
  const rows = [];
  for (let i = first; i < last; ++i) {
    const commands = lane.commands[i];
    const index = commands === 1 ? `command ${count(lane.first[i])}` : `commands ${count(lane.first[i])} to ${count(lane.first[i] + commands - 1)}`;
    rows.push({lane: name, x: Math.max(from, lane.begin[i]), x2: Math.min(to, lane.end[i]), share: lane.busy[i] / Math.max(1, lane.end[i] - lane.begin[i]),
      tip_Unit: LANES[name][0], tip_Layer: layers[lane.layer[i]].name, tip_What: index,
      tip_Cycles: `${count(lane.begin[i])} to ${count(lane.end[i])}`, tip_Busy: `${count(lane.busy[i])} of ${count(lane.end[i] - lane.begin[i])} cycles`});
  }
  return rows;
}

// Busy cycles of each bin; those of a joined span are spread evenly over it.
function binRows(name, lane, first, last, from, to, bins) {
  const step = (to - from) / bins;
  const busy = new Float64Array(bins);
  for (let i = first; i < last; ++i) {
    const length = lane.end[i] - lane.begin[i];
    if (length === 0) continue;
    const density = lane.busy[i] / length;
    const begin = Math.max(from, lane.begin[i]);
    const end = Math.min(to, lane.end[i]);
    for (let bin = Math.floor((begin - from) / step); bin < bins && from + bin * step < end; ++bin) {
      busy[bin] += density * Math.max(0, Math.min(end, from + (bin + 1) * step) - Math.max(begin, from + bin * step));
    }
  }
  const rows = [];
  for (let bin = 0; bin < bins; ++bin) {
    const share = Math.round(Math.min(1, busy[bin] / step) * 16) / 16;
    if (busy[bin] <= 0) continue;
    const shown = Math.max(share, 1 / 16);
    const back = rows[rows.length - 1];
    const x = from + bin * step;
    if (back && back.share === shown && Math.abs(back.x2 - x) < step / 2) {
      back.x2 = x + step;
      back.busy += busy[bin];
    } else {
      rows.push({lane: name, x, x2: x + step, share: shown, busy: busy[bin]});
    }
  }
  return rows.map((row) => ({...row, tip_Unit: LANES[name][0], tip_Layer: "-", tip_What: "several commands: zoom in to see each",
    tip_Cycles: `${count(row.x)} to ${count(row.x2)}`, tip_Busy: percent(row.busy / (row.x2 - row.x))}));
}

// The layers' windows, with the name where it fits.
function layerRows(layers, from, to, pixels) {
  return layers.filter((layer) => layer.begin < to && layer.begin + layer.cycles > from).map((layer) => {
    const x = Math.max(from, layer.begin);
    const x2 = Math.min(to, layer.begin + layer.cycles);
    const room = ((x2 - x) / (to - from)) * pixels;
    const fits = room > 7 * layer.name.length + 6;
    return {lane: "layers", x, x2, middle: (x + x2) / 2, shade: layer.index % 2, name: fits ? layer.name : room > 20 ? String(layer.number) : "",
      tip_Unit: "layer", tip_Layer: layer.name, tip_What: layer.words,
      tip_Cycles: `${count(layer.begin)} to ${count(layer.begin + layer.cycles)}`, tip_Busy: "-"};
  });
}

function timelineSpec(lanes, total) {
  const order = ["layers", ...lanes];
  const labels = ["layers", ...lanes.map((lane) => LANES[lane][0])];
  const position = {
    y: {field: "lane", type: "ordinal", title: null, scale: {domain: order, paddingInner: 0.18},
      axis: {labelExpr: `${JSON.stringify(labels)}[indexof(${JSON.stringify(order)}, datum.value)]`, ticks: false, domain: false, labelLimit: LABEL_PIXELS,
        minExtent: LABEL_PIXELS, maxExtent: LABEL_PIXELS}},
    x: {field: "x", type: "quantitative", title: "cycles", scale: {domainMin: {expr: "from"}, domainMax: {expr: "to"}, nice: false, zero: false, clamp: true},
      axis: {labelExpr: "to - from > 2e6 ? format(datum.value, '~s') : format(datum.value, ',')", labelOverlap: true, tickCount: 6, labelFlush: true}},
    x2: {field: "x2"},
  };
  const tooltip = tips("Unit", "Layer", "What", "Cycles", "Busy");
  return {
    params: [{name: "from", value: 0}, {name: "to", value: total}],
    height: 34 * order.length,
    resolve: {scale: {color: "independent"}},
    layer: [
      {data: {name: "layers", values: [{lane: "layers", x: 0, x2: total, middle: 0, shade: 0, name: ""}]},
        mark: {type: "bar", height: {band: 0.8}, stroke: cssColour("--paper"), strokeWidth: 1},
        encoding: {...position, tooltip, color: {field: "shade", type: "nominal", legend: null,
          scale: {domain: [0, 1], range: [cssColour("--rule"), cssColour("--raised")]}}}},
      {data: {name: "spans", values: [{lane: lanes[0], x: 0, x2: total, share: 0}]}, mark: {type: "bar", height: {band: 1}, minBandSize: 1},
        encoding: {...position, tooltip, color: {field: "lane", type: "nominal", legend: null,
          scale: {domain: lanes, range: lanes.map((lane) => colour(LANES[lane][1]))}},
          opacity: {field: "share", type: "quantitative", legend: null, scale: {domain: [0, 1], range: [0.12, 1]}}}},
      {data: {name: "layers"}, mark: {type: "text", fontSize: 11, clip: true},
        encoding: {y: position.y, x: {...position.x, field: "middle"}, text: {field: "name", type: "nominal"}}},
    ],
  };
}

class TimelineWindow {
  constructor(run, layers, container, words) {
    this.layers = layers;
    this.total = run.run.total.cycles;
    this.lanes = Object.fromEntries(Object.entries(run.timeline.lanes).map(([name, text]) => [name, decodeLane(text)]));
    this.container = container;
    this.words = words;
    this.from = 0;
    this.to = this.total;
  }

  names() { return Object.keys(this.lanes).filter((name) => this.lanes[name].begin.length > 0); }
  view() { return charts.get(this.container).view; }
  pixels() { return Math.max(50, this.view().width()); }
  // Where the run begins, in pixels from the left edge of the chart.
  left() { return this.view().origin()[0]; }

  // Shows [from, to), moved and widened as the run allows.
  show(from, to) {
    const width = Math.min(this.total, Math.max(LEAST_WINDOW, to - from));
    const middle = (from + to) / 2;
    this.from = Math.max(0, Math.min(this.total - width, Math.round(middle - width / 2)));
    this.to = Math.min(this.total, this.from + Math.round(width));
    if (!this.waiting) this.waiting = requestAnimationFrame(() => this.update());
  }

  zoom(factor, at = 0.5) {
    const place = this.from + at * (this.to - this.from);
    const width = Math.min(this.total, Math.max(LEAST_WINDOW, (this.to - this.from) * factor));
    this.show(place - at * width, place + (1 - at) * width);
  }
  move(share) {
    const step = share * (this.to - this.from);
    const bounded = Math.max(-this.from, Math.min(this.total - this.to, Math.sign(step) * Math.round(Math.abs(step))));
    this.show(this.from + bounded, this.to + bounded);
  }

  async update() {
    this.waiting = null;
    if (!charts.has(this.container)) return;  // another run is shown by now
    const view = this.view();
    const bins = Math.round(this.pixels() / 2);
    const rows = this.names().flatMap((name) => visibleRows(name, this.lanes[name], this.from, this.to, bins, this.layers));
    view.signal("from", this.from).signal("to", this.to).data("spans", rows)
      .data("layers", layerRows(this.layers, this.from, this.to, this.pixels()));
    await view.runAsync();
    this.words.textContent = this.inWords();
  }

  // The busy cycles of a lane in the window.
  busy(name) {
    const lane = this.lanes[name];
    let cycles = 0;
    for (let i = upperBound(lane.end, this.from); i < lane.begin.length && lane.begin[i] < this.to; ++i) {
      const length = lane.end[i] - lane.begin[i];
      if (length > 0) cycles += (lane.busy[i] / length) * (Math.min(this.to, lane.end[i]) - Math.max(this.from, lane.begin[i]));
    }
    return cycles;
  }
  inWords() {
    const shares = this.names().map((name) => `${LANES[name][0]} ${percent(this.busy(name) / (this.to - this.from))}`);
    return `Cycles ${count(this.from)} to ${count(this.to)} of ${count(this.total)}. Busy: ${shares.join(", ")}.`;
  }
}

function timelineControls(state) {
  const button = (text, label, action) => {
    const node = element("button", {type: "button", "aria-label": label}, text);
    node.addEventListener("click", action);
    return node;
  };
  const choice = element("select", {id: "timeline-layer"}, element("option", {value: ""}, "whole run"),
    ...state.layers.map((layer) => element("option", {value: layer.index}, `${layer.number} ${layer.name}`)));
  choice.addEventListener("change", () => {
    const layer = state.layers[choice.value];
    if (choice.value === "") state.show(0, state.total);
    else state.show(layer.begin, layer.begin + layer.cycles);
  });
  return element("div", {class: "controls"}, element("label", {for: "timeline-layer"}, "Show"), choice,
    button("+", "Zoom in", () => state.zoom(0.5)), button("\u2212", "Zoom out", () => state.zoom(2)),
    button("\u2190", "Earlier", () => state.move(-0.5)), button("\u2192", "Later", () => state.move(0.5)));
}

const KEYS = {
  "+": (state) => state.zoom(0.5), "=": (state) => state.zoom(0.5), "-": (state) => state.zoom(2),
  ArrowLeft: (state) => state.move(-0.25), ArrowRight: (state) => state.move(0.25),
  Home: (state) => state.show(0, state.to - state.from), End: (state) => state.show(state.total - (state.to - state.from), state.total),
  "0": (state) => state.show(0, state.total),
};

function listen(region, state) {
  const place = (event) => {
    const box = state.container.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left - state.left()) / state.pixels()));
  };
  region.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key](state);
  });
  region.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
    event.preventDefault();
    state.zoom(event.deltaY + event.deltaX > 0 ? 1.25 : 0.8, place(event));
  }, {passive: false});
  let last = null;
  region.addEventListener("pointerdown", (event) => { last = event.button === 0 ? event.clientX : null; });
  region.addEventListener("pointermove", (event) => {
    if (last === null || event.buttons === 0 || event.clientX === last) return;
    state.move((last - event.clientX) / state.pixels());
    last = event.clientX;
  });
  for (const name of ["pointerup", "pointercancel", "pointerleave"]) region.addEventListener(name, () => { last = null; });
  region.addEventListener("dblclick", (event) => state.zoom(0.4, place(event)));
}

async function drawTimeline(parent, run, layers) {
  const container = element("div", {class: "chart", id: "chart-timeline"});
  const words = element("p", {class: "small", id: "timeline-words", "aria-live": "polite"});
  const region = element("div", {id: "timeline-view", tabindex: 0, role: "application",
    "aria-label": "Timeline of the units: arrow keys move, plus and minus zoom, 0 shows the whole run",
    "aria-describedby": "timeline-words"}, container);
  const state = new TimelineWindow(run, layers, container, words);
  const gap = run.timeline.joined_gap;
  const joined = gap === null ? "Each command is a bar." :
    `Commands of one layer at most ${count(gap)} cycles apart are one bar, because the run has too many for this page.`;
  parent.append(timelineControls(state), element("figure", {}, region, words, element("figcaption", {},
    `A bar is a time in which the unit is occupied; a pale one stands for a time in which it is occupied in part. ${joined} Drag to move. ` +
    "Double-click, or turn the wheel with Shift or Ctrl, to zoom. With the keyboard: arrow keys, + and -, Home, End, and 0 for the whole run.")),
    unitTable(run));
  listen(region, state);
  await drawChart(container, "Timeline of the units", () => timelineSpec(state.names(), state.total), "canvas", () => state.update());
  new ResizeObserver(() => state.show(state.from, state.to)).observe(container);
}
