// Several runs: which is best in what, a table, and the Pareto front of two of their numbers.
"use strict";

// name: [label, value, text, whether less is better]
function measures(runs) {
  const unit = runs[0].run.energy ? runs[0].run.energy.unit : null;
  const sameTable = unit !== null && runs.every((run) => run.run.energy && run.run.energy.table === runs[0].run.energy.table);
  const all = {
    cycles: [TERMS.cycles[0], (run) => run.run.total.cycles, count],
    dram: ["DRAM bytes", (run) => bytesOf(run.run.total), bytesText],
    energy: [TERMS.energy[0] + " in " + unit, (run) => (sameTable ? run.run.total.energy : null), (value) => energyText(value, unit)],
    area: ["Area in mm2", (run) => run.area_mm2, (value) => value.toPrecision(3)],
    pes: [TERMS.pes[0], pesOf, count],
    sram: [TERMS.sram[0] + " in KiB", sramKibOf, kibText],
  };
  return Object.fromEntries(Object.entries(all).filter(([, [, value]]) => runs.every((run) => value(run) !== null && value(run) !== undefined)));
}

// The runs that no other run beats in one number without being worse in the other, in the order of x.
function paretoFront(points) {
  const sorted = [...points].sort((a, b) => a.x - b.x || a.y - b.y);
  const front = [];
  let least = Infinity;
  for (const point of sorted) {
    if (point.y < least) front.push(point);
    least = Math.min(least, point.y);
  }
  return front;
}

function paretoSpec(runs, all, xName, yName) {
  const [xLabel, xValue, xText] = all[xName];
  const [yLabel, yValue, yText] = all[yName];
  const points = runs.map((run, index) => ({index, x: xValue(run), y: yValue(run), flow: run.dataflow, tip_Run: run.label,
    ["tip_" + xLabel]: xText(xValue(run)), ["tip_" + yLabel]: yText(yValue(run))}));
  const front = paretoFront(points);
  const onFront = new Set(front.map((point) => point.index));
  for (const point of points) point["tip_On the front"] = onFront.has(point.index) ? "yes" : "no";
  const scale = (values) => (Math.max(...values) > 30 * Math.max(1, Math.min(...values)) ? {type: "log"} : {zero: false, padding: 14});
  const x = {field: "x", type: "quantitative", title: xLabel, scale: scale(points.map((p) => p.x)), axis: {labelExpr: "format(datum.value, \"~s\")", tickCount: 6, labelOverlap: true}};
  const y = {field: "y", type: "quantitative", title: yLabel, scale: scale(points.map((p) => p.y)), axis: {labelExpr: "format(datum.value, \"~s\")", tickCount: 6, labelOverlap: true}};
  const flows = Object.entries(DATAFLOWS);
  return {
    height: 320,
    layer: [
      {data: {values: front}, mark: {type: "line", interpolate: "step-after", color: cssColour("--quiet"), strokeDash: [5, 4]}, encoding: {x, y, order: {field: "x", type: "quantitative"}}},
      {data: {values: points}, mark: {type: "point", filled: true, size: 130, opacity: 0.9, stroke: cssColour("--paper"), strokeWidth: 1},
        encoding: {x, y, tooltip: tips("Run", xLabel, yLabel, "On the front"),
          color: {field: "flow", type: "nominal", legend: null, scale: {domain: flows.map(([n]) => n), range: flows.map(([, f]) => colour(f[1]))}},
          shape: {field: "flow", type: "nominal", legend: null, scale: {domain: flows.map(([n]) => n), range: flows.map(([, f]) => f[2])}}}},
      ...(front.length > 12 ? [] : [{data: {values: front.map((p) => ({...p, name: runs[p.index].label}))}, mark: {type: "text", align: "left", dx: 9, dy: -9, limit: 150},
        encoding: {x, y, text: {field: "name", type: "nominal"}}}]),
    ],
  };
}

function winnersList(runs, all) {
  const best = Object.entries(all).slice(0, 4).map(([, [label, value, text]]) => {
    const least = Math.min(...runs.map(value));
    const winners = runs.filter((run) => value(run) === least);
    const more = winners.length > 3 ? ` and ${winners.length - 3} more` : "";
    return element("li", {}, `Least ${/^[A-Z][a-z]/.test(label) ? label.charAt(0).toLowerCase() + label.slice(1) : label}: ${winners.slice(0, 3).map((run) => run.label).join("; ")}${more} (${text(least)})`);
  });
  return element("ul", {}, ...best);
}

function runsTable(runs, all, chosen) {
  const least = Math.min(...runs.map((run) => run.run.total.cycles));
  const rows = runs.map((run, index) => ({...run, chosen: index === chosen}));
  return makeTable("All runs", [textColumn(term("run"), (run) => run.label),
    ...Object.values(all).map(([label, value, text]) => numberColumn(label, (run) => text(value(run)))),
    numberColumn("Against the fewest cycles", (run) => ratioText(run.run.total.cycles / least)),
    numberColumn(term("utilization"), (run) => percent(run.run.total.utilization)),
    textColumn(term("limited_by"), (run) => LIMITERS[run.run.total.limited_by][0]), textColumn("In words", (run) => run.words, true)], rows);
}

function compareRuns(parent, runs, chosen) {
  const all = measures(runs);
  const names = Object.keys(all);
  const choice = (id, label, value) => [element("label", {for: id}, label), element("select", {id}, ...names.map((name) =>
    element("option", {value: name, selected: name === value}, all[name][0])))];
  const across = choice("pareto-x", "Across", all.area ? "area" : all.energy ? "energy" : "dram");
  const up = choice("pareto-y", "Up", "cycles");
  parent.append(winnersList(runs, all));
  const make = () => paretoSpec(runs, all, across[1].value, up[1].value);
  const drawn = figure(parent, {name: "pareto", label: "Pareto front of the runs",
    caption: "A point is a run; less is better in both directions. The dashed line leads along the Pareto front: the runs that no other run beats in one of the two numbers without being worse in the other.",
    key: Object.entries(DATAFLOWS).filter(([name]) => runs.some((run) => run.dataflow === name)).map(([, [label, tint, shape]]) => ({label, colour: tint, shape})),
    table: runsTable(runs, all, chosen), make, before: element("div", {class: "controls"}, ...across, ...up)});
  for (const select of [across[1], up[1]]) {
    select.addEventListener("change", () => drawn.then(({container}) => charts.get(container).draw()));
  }
  return drawn;
}
