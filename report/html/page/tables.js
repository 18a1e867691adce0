// The same numbers as the charts, as tables; and the list of what they mean.
"use strict";

// columns: [{title (text or node), text: row => text, number: whether to the right}]; the first column
// names the row. `last` is the row of the total.
function makeTable(caption, columns, rows, last) {
  const line = (row, attributes) => element("tr", attributes, ...columns.map((column, index) =>
    element(index === 0 ? "th" : "td", {scope: index === 0 ? "row" : null,
      class: column.number ? "number" : column.words ? "words" : index > 0 ? "text" : null},
      column.text(row))));
  const head = element("thead", {}, element("tr", {}, ...columns.map((column) =>
    element("th", {scope: "col", class: column.number ? "number" : null}, column.title))));
  const body = element("tbody", {}, ...rows.map((row) => line(row, {class: row.chosen ? "chosen" : null})));
  if (last) body.append(line(last, {class: "total"}));
  return element("div", {class: "wide", tabindex: 0, role: "region", "aria-label": caption},
    element("table", {}, element("caption", {}, caption), head, body));
}

const numberColumn = (title, text) => ({title, text, number: true});
const textColumn = (title, text, words) => ({title, text, words});
const nameColumn = () => textColumn(term("layer"), (row) => (row.number ? row.number + " " : "") + row.name);

function totalOf(run) {
  const total = run.run.total;
  return {...total, name: "total", share: 1, dataflow: run.dataflow, mapping: "", op: "", words: run.words,
    rate: total.cycles ? total.macs / total.cycles : 0};
}

const sum = (rows, value) => rows.reduce((total, row) => total + value(row), 0);

function layerTable(run, layers) {
  const flow = run.dataflow === "mixed" ? [textColumn(term("dataflow"), (row) => row.dataflow)] : [];
  return makeTable("The layers", [nameColumn(), textColumn("Operation", (row) => row.op.replaceAll("+", " + ")), ...flow,
    textColumn(term("mapping"), (row) => row.mapping), numberColumn(term("macs"), (row) => count(row.macs)),
    numberColumn(term("cycles"), (row) => count(row.cycles)), numberColumn(term("share"), (row) => percent(row.share)),
    numberColumn(term("utilization"), (row) => percent(row.utilization)), textColumn(term("limited_by"), (row) => LIMITERS[row.limited_by][0]),
    numberColumn(term("limiter_busy"), (row) => percent(row.limiter_busy))], layers, totalOf(run));
}

function wordsTable(layers) {
  return makeTable("What limits each layer, in words", [nameColumn(), textColumn("In words", (row) => row.words, true)], layers);
}

function rooflineTable(run, layers) {
  return makeTable("The roofline's numbers", [nameColumn(), numberColumn(term("intensity"), (row) => ratioText(row.intensity)),
    numberColumn(term("rate"), (row) => ratioText(row.rate)), numberColumn(term("attainable"), (row) => ratioText(row.attainable)),
    numberColumn(term("of_roof"), (row) => percent(row.of_roof)), textColumn(term("limited_by"), (row) => LIMITERS[row.limited_by][0])], layers);
}

// A column for each part; value(row, name) -> number.
function partsTable(caption, parts, layers, last, value, text, total) {
  return makeTable(caption, [nameColumn(), total, ...parts.map(([name, part]) =>
    numberColumn(element("abbr", {title: part[2]}, part[0]), (row) => text(value(row, name))))], layers, last);
}

function dramTable(run, layers) {
  const least = (row) => (row.bounds ? bytesText(row.bounds.dram_bytes) : "-");
  return makeTable("DRAM bytes", [nameColumn(), numberColumn(term("read"), (row) => bytesText(row.dram_read_bytes)),
    numberColumn(term("write"), (row) => bytesText(row.dram_write_bytes)), numberColumn("Together", (row) => bytesText(bytesOf(row))),
    numberColumn(term("least"), least), numberColumn(term("times_least"), timesLeast)], layers, totalOf(run));
}

function unitTable(run) {
  const cycles = run.run.total.cycles;
  const rows = Object.entries(run.run.total.units).map(([name, unit]) => ({name: name.toUpperCase(), ...unit,
    idle: unit.idle_cycles === undefined ? unit.start_cycles + unit.drain_cycles : unit.idle_cycles,
    stalled: sum(Object.values(unit.stalls), (value) => value),
    why: Object.entries(unit.stalls).filter(([, value]) => value > 0).map(([key, value]) => `${key} ${count(value)}`).join(", ")}));
  return makeTable("The four units over the run", [textColumn("Unit", (row) => row.name), numberColumn(term("busy"), (row) => count(row.busy_cycles)),
    numberColumn("Of the run", (row) => percent(cycles ? row.busy_cycles / cycles : 0)), numberColumn(term("stalls"), (row) => count(row.stalled)),
    numberColumn(term("idle"), (row) => count(row.idle)), textColumn("Stalled for", (row) => row.why || "-", true)], rows);
}

function termList() {
  const list = (title, entries) => element("div", {}, element("h3", {}, title), makeTable(title, [textColumn("Term", (row) => row[0]),
    textColumn("Meaning", (row) => row[1])], entries));
  return [list("Numbers", Object.values(TERMS)), list("Causes of cycles", Object.values(PATH_PARTS).map((part) => [part[0], part[2]])),
    list("What limits a layer", Object.values(LIMITERS).map((part) => [part[0], part[3]])),
    list("Components of energy", Object.values(ENERGY_PARTS).map((part) => [part[0], part[2]]))];
}
