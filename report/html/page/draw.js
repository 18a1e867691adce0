// Vega-Lite charts in the page's style: drawn again when the scheme changes, saved as pictures on demand.
"use strict";

const charts = new Map();  // container -> {make, view}

function theme() {
  const ink = cssColour("--ink");
  const quiet = cssColour("--quiet");
  const rule = cssColour("--rule");
  const font = cssColour("--text");
  return {
    background: "transparent",
    font,
    view: {stroke: null},
    mark: {aria: false},
    axis: {aria: false, labelColor: ink, titleColor: quiet, titleFontWeight: "normal", gridColor: rule, domainColor: rule, tickColor: rule,
      labelFontSize: 12, titleFontSize: 12, labelLimit: 120},
    legend: {aria: false},
    text: {color: ink, fontSize: 11},
    rule: {color: ink},
    tick: {color: ink},
  };
}

// Draws make() into `container`; `label` says to a screen reader what there is to see. `after` is called
// each time that the chart is new.
async function drawChart(container, label, make, renderer, after) {
  const chart = charts.get(container) || {};
  charts.set(container, chart);
  chart.draw = () => drawChart(container, label, make, renderer, after);
  if (chart.view) chart.view.finalize();
  const spec = {description: label, width: "container", autosize: {type: "fit-x", contains: "padding"},
    padding: {left: 2, right: 6, top: 6, bottom: 4}, ...make(), config: theme()};
  const result = await vegaEmbed(container, spec, {mode: "vega-lite", actions: false, renderer: renderer || "svg",
    tooltip: {theme: isDark() ? "dark" : "light"}});
  if (!charts.has(container)) {
    result.view.finalize();  // forgotten while it was drawn
    return result.view;
  }
  chart.view = result.view;
  if (after) await after();
  return result.view;
}

function forgetCharts(parent) {
  for (const [container, chart] of charts) {
    if (!parent.contains(container)) continue;
    if (chart.view) chart.view.finalize();
    charts.delete(container);
  }
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const chart of charts.values()) chart.draw();
  for (const swatch of document.querySelectorAll(".key [data-colour]")) paintSwatch(swatch);
});

async function savePicture(container, name) {
  const svg = await charts.get(container).view.toSVG(1, {config: {background: cssColour("--paper")}});
  const url = URL.createObjectURL(new Blob([svg], {type: "image/svg+xml"}));
  const link = element("a", {href: url, download: name + ".svg"});
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const SHAPES = {
  square: "M1 1h12v12h-12z", circle: "M7 1a6 6 0 1 0 0.01 0z", "triangle-up": "M7 1l6.5 12h-13z",
  diamond: "M7 0l7 7l-7 7l-7 -7z", cross: "M5 1h4v4h4v4h-4v4h-4v-4h-4v-4h4z", tick: "M6 0h2.5v14h-2.5z", line: "M0 6h14v2h-14z",
};

function paintSwatch(path) {
  path.setAttribute("fill", path.dataset.colour === "ink" ? cssColour("--ink") : colour(path.dataset.colour));
}

// [{label, colour, shape, explanation}] as a list beneath a chart.
function keyList(entries) {
  return element("ul", {class: "key"}, ...entries.map((entry) => {
    const ns = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(ns, "svg");
    const path = document.createElementNS(ns, "path");
    for (const [name, value] of Object.entries({width: 14, height: 14, "aria-hidden": "true"})) svg.setAttribute(name, value);
    path.setAttribute("d", SHAPES[entry.shape || "square"]);
    path.setAttribute("stroke", "#8d949e");
    path.setAttribute("stroke-width", "0.5");
    path.dataset.colour = entry.colour;
    paintSwatch(path);
    svg.append(path);
    const label = entry.explanation ? element("abbr", {title: entry.explanation}, entry.label) : entry.label;
    return element("li", {}, svg, label);
  }));
}

// A chart with its key, a sentence on how to read it, and its numbers as a table.
function figure(parent, {name, label, caption, key, table, make, renderer, before, isOpen}) {
  const container = element("div", {class: "chart", id: "chart-" + name});
  const save = element("button", {type: "button", "aria-label": "Save the picture: " + label}, "Save as SVG");
  save.addEventListener("click", () => savePicture(container, name));
  parent.append(element("figure", {}, before || null, container, key ? keyList(key) : null,
    element("figcaption", {}, caption)));
  const numbers = table ? element("details", {open: isOpen}, element("summary", {}, "Table of these numbers"), table) : null;
  parent.append(element("div", {class: "controls"}, save), ...(numbers ? [numbers] : []));
  return drawChart(container, label, make, renderer).then((view) => ({view, container}));
}
