// Builds the page from its data: of a profile all points beside each other, then one run in detail.
"use strict";

const SECTIONS = [
  ["layers", "Layers", drawLayers],
  ["roofline", "Roofline", drawRoofline],
  ["cycles", "Cycles by cause", drawCycles],
  ["utilization", "Utilization", drawUtilization],
  ["dram", "DRAM traffic", drawDram],
  ["energy", "Energy", drawEnergy],
  ["timeline", "Timeline", drawTimelineSection],
];

function tilesOf(run) {
  const total = run.run.total;
  const config = run.run.config;
  const bytes = bytesOf(total);
  const energy = run.run.energy;
  const verify = run.run.verify;
  const tiles = [
    [term("cycles"), count(total.cycles), `${secondsText(total.simulated_seconds)} at ${count(config.clock_mhz)} MHz`],
    [term("utilization"), percent(total.utilization), `of ${config.array_rows} x ${config.array_cols} PEs, ${count(total.macs)} MACs`],
    [term("limited_by"), LIMITERS[total.limited_by][0], `busy ${percent(total.limiter_busy)}`],
    ["DRAM traffic", bytesText(bytes), `${bytesText(total.dram_read_bytes)} read, ${bytesText(total.dram_write_bytes)} written`],
  ];
  if (energy) {
    tiles.push([term("energy"), energyText(total.energy, energy.unit),
      energy.tops_per_watt ? `${energy.tops_per_watt.toFixed(2)} TOPS/W by ${energy.table}` : `by ${energy.table}`]);
  }
  if (run.area_mm2 !== null) tiles.push([term("area"), `${run.area_mm2.toPrecision(3)} mm\u00b2`, ""]);
  tiles.push(["Verified", verify ? (verify.mismatches === 0 ? "equal" : `${count(verify.mismatches)} differ`) : "not compared",
    verify ? `${count(verify.values)} values against golden ${verify.golden}` : ""]);
  return element("dl", {class: "tiles"}, ...tiles.map(([title, value, note]) =>
    element("div", {}, element("dt", {}, title), element("dd", {}, value, element("small", {}, note)))));
}

function drawLayers(parent, run, layers) {
  parent.append(layerTable(run, layers), element("details", {}, element("summary", {}, "What limits each layer, in words"), wordsTable(layers)));
}

function drawRoofline(parent, run, layers) {
  const present = Object.entries(LIMITERS).filter(([name]) => layers.some((layer) => layer.limited_by === name));
  return figure(parent, {name: "roofline", label: "Roofline: MACs per cycle of each layer over its MACs per byte",
    caption: "A point is a layer, with its number; a larger one has more of the cycles. The line is the roof: how many " +
      "MACs per cycle the bus can feed, up to the number of PEs. " +
      "Where it slopes, DRAM is the bound; where it is flat, the array is. Reads and writes have a bus each, so the direction with more bytes counts.",
    key: present.map(([, [label, tint, shape, explanation]]) => ({label: "limited by " + label, colour: tint, shape, explanation})),
    table: rooflineTable(run, layers), make: () => rooflineSpec(run, layers, Math.max(200, parent.clientWidth - 60))});
}

function drawCycles(parent, run, layers) {
  const parts = presentParts(PATH_PARTS, (name) => layers.some((layer) => layer.critical_path_cycles[name] > 0));
  return figure(parent, {name: "cycles", label: "Cycles of each layer by cause",
    caption: "What the critical path of each layer is spent on: what would have to be faster for the layer to end earlier. " +
      "The parts add up to the layer's cycles.",
    key: keyOf(parts), make: () => cyclesSpec(layers, parts),
    table: partsTable("Cycles by cause", parts, layers, totalOf(run), (row, name) => row.critical_path_cycles[name], count,
      numberColumn(term("cycles"), (row) => count(row.cycles)))});
}

function drawUtilization(parent, run, layers) {
  const parts = arrayParts(run);
  const share = (row, name) => (row.cycles > 0 ? (row.array_time_pe_cycles[name] || 0) / (row.cycles * pesOf(run)) : 0);
  return figure(parent, {name: "utilization", label: "What the PEs do in each layer",
    caption: "In every cycle each PE does useful work, or there is a cause why not. The useful share is the utilization. " +
      "A wait has the name of what the critical path is at meanwhile.",
    key: keyOf(parts), make: () => utilizationSpec(run, layers, parts),
    table: partsTable("What the PEs do", parts, layers, totalOf(run), share, percent, numberColumn(term("utilization"), (row) => percent(row.utilization)))});
}

function drawDram(parent, run, layers) {
  const known = layers.some((layer) => layer.bounds);
  const least = known ? " The mark is the least that any mapping moves: each byte of ifmap, weights, parameters and ofmap once." : "";
  return figure(parent, {name: "dram", label: "DRAM reads and writes of each layer",
    caption: "Bytes that the layer moves." + least,
    key: [...keyOf(Object.entries(DIRECTIONS)), ...(known ? [{label: "least possible", colour: "ink", shape: "tick", explanation: TERMS.least[1]}] : [])],
    table: dramTable(run, layers), make: () => dramSpec(layers)});
}

function drawEnergy(parent, run, layers) {
  if (!run.run.energy) {
    parent.append(element("p", {}, "This run has no energy. Energy depends on the process; ", element("code", {}, "--energy NAME"),
      " with a table, for example horowitz-45nm, adds it."));
    return null;
  }
  const {table, unit} = run.run.energy;
  const total = run.run.total;
  const parts = presentParts(ENERGY_PARTS, (name) => total.energy_parts[name] > 0);
  const missing = Object.keys(ENERGY_PARTS).filter((name) => total.energy_parts[name] === null).map((name) => ENERGY_PARTS[name][0]);
  const left = missing.length > 0 ? ` Not in the table, so not counted: ${missing.join(", ")}.` : "";
  return figure(parent, {name: "energy", label: "Energy of each layer by component",
    caption: `Events counted in the run, times the energies of the table ${table}. Leakage, clock and control are not in it.${left}`,
    key: keyOf(parts), make: () => energySpec(run, layers, parts),
    table: partsTable("Energy by component", parts, layers, totalOf(run), (row, name) => row.energy_parts[name] || 0, (value) => energyText(value, unit),
      numberColumn(term("energy"), (row) => energyText(row.energy, unit)))});
}

function drawTimelineSection(parent, run, layers) {
  if (run.timeline) return drawTimeline(parent, run, layers);
  parent.append(element("p", {}, "The page has no room for the timeline of this run. A report of this run alone has it."), unitTable(run));
  return null;
}

function section(id, title) {
  return element("section", {id, "aria-labelledby": id + "-title"}, element("h2", {id: id + "-title"}, title));
}

let turn = 0;

// A later call ends an earlier one that still draws.
async function showRun(parent, run) {
  const own = ++turn;
  forgetCharts(parent);
  parent.replaceChildren(tilesOf(run));
  const layers = layersOf(run);
  for (const [id, title, draw] of SECTIONS) {
    const node = section(id, title);
    parent.append(node);
    await draw(node, run, layers);
    if (own !== turn) return;
  }
}

function whatRan(run) {
  const {engine, provenance, config} = run.run;
  const flow = run.dataflow;
  const flowText = flow === "mixed" ? "several dataflows" : flow;
  return `${config.name}: ${config.array_rows} x ${config.array_cols} PEs, ${kibText(sramKibOf(run))} SRAM, bus of ${config.bus_bytes} bytes` +
    `${flowText ? " \u00b7 " + flowText : ""} \u00b7 engine ${engine} \u00b7 qsim ${provenance.version} (${provenance.commit})`;
}

function drawFooter(footer, run) {
  const {provenance, config} = run.run;
  footer.replaceChildren(element("h2", {}, "How to get these numbers again"),
    element("pre", {}, provenance.argv.join(" ")),
    element("p", {}, `qsim ${provenance.version} (${provenance.commit}), model ${provenance.model} ${provenance.model_hash}, ` +
      `configuration ${provenance.config} ${provenance.config_hash}` +
      (provenance.input ? `, input ${provenance.input} ${provenance.input_hash}` : "")),
    element("details", {}, element("summary", {}, "The configuration"), makeTable("Fields of the configuration",
      [textColumn("Field", (row) => row[0]), textColumn("Value", (row) => String(row[1]))], Object.entries(config))));
}

function drawContents(nav, sections) {
  nav.replaceChildren(element("ul", {}, ...sections.map(([id, title]) => element("li", {}, element("a", {href: "#" + id}, title)))));
}

// The heading of a profile: which model, and what has no room.
function profileSection(parent, draw) {
  const models = [...new Set(PAGE.points.map((point) => point.model))];
  const part = element("div", {});
  const show = (model) => {
    forgetCharts(part);
    part.replaceChildren();
    return draw(part, PAGE.points.filter((point) => point.model === model));
  };
  if (models.length > 1) {
    const select = element("select", {id: "chosen-model"}, ...models.map((model) => element("option", {value: model}, model)));
    select.addEventListener("change", () => show(select.value));
    parent.append(element("div", {class: "controls"}, element("label", {for: "chosen-model"}, "Model"), select));
  }
  if (PAGE.points_left_out > 0) {
    parent.append(element("p", {}, `${count(PAGE.points_left_out)} more points have no room on the page. No winner and none of the ` +
      "Pareto front is among them; --csv and --json have them."));
  }
  parent.append(part);
  return show(models[0]);
}

// The list of the runs that are shown in detail, and why others are not.
function runSection(parent, choose) {
  const select = element("select", {id: "chosen-run"}, ...PAGE.runs.map((run, index) => element("option", {value: index}, run.label)));
  select.addEventListener("change", () => choose(Number(select.value)));
  parent.append(element("div", {class: "controls"}, element("label", {for: "chosen-run"}, "Point"), select));
  if (PAGE.runs.length < PAGE.points.length) {
    parent.append(element("p", {class: "quiet"}, `The page has ${count(PAGE.runs.length)} of ${count(PAGE.points.length)} points in detail: ` +
      "the winners, then points of the Pareto front, then the next best; of equal ones one. qsim run --report shows any other."));
  }
  parent.append(element("p", {id: "run-words"}));
  return select;
}

async function main() {
  const runs = PAGE.runs;
  const several = PAGE.profile !== null;
  const body = document.getElementById("main");
  const detail = element("div", {id: "run"});
  const terms = section("terms", "What the numbers mean");
  terms.append(...termList());
  let select = null;
  const choose = async (index) => {
    const {provenance} = runs[index].run;
    document.getElementById("what-ran").textContent = several ? `qsim ${provenance.version} (${provenance.commit})` : whatRan(runs[index]);
    drawFooter(document.getElementById("footer"), runs[index]);
    if (several) {
      select.value = index;
      document.getElementById("run-words").textContent = `${whatRan(runs[index])}. ${runs[index].words}`;
    }
    await showRun(detail, runs[index]);
  };
  drawContents(document.getElementById("contents"), [...(several ? [["points", "All points"], ["one", "One point"]] : []),
    ...SECTIONS.map(([id, title]) => [id, title]), ["terms", "What the numbers mean"]]);
  if (several) {
    const all = section("points", "All points");
    const one = section("one", "One point in detail");
    select = runSection(one, choose);
    body.append(all, one);
    await profileSection(all, (part, points) => comparePoints(part, points, choose));
  }
  body.append(detail, terms);
  await choose(0);
  document.documentElement.dataset.ready = "yes";
}

main();
