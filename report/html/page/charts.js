// The charts of one run: roofline, cycles by cause, utilization, DRAM bytes, energy.
"use strict";

const ROW_HEIGHT = 24;

// The axis of layers: by number, because two names may be cut to the same text.
function layerAxis(names) {
  return {
    params: [{name: "names", value: names}],
    y: {field: "number", type: "ordinal", title: null, scale: {domain: names.map((_, i) => i + 1)},
      axis: {labelExpr: "names[datum.value - 1]", ticks: false, domain: false, labelLimit: 110}},
  };
}

const tips = (...titles) => titles.map((title) => ({field: "tip_" + title, title}));

// The unit in which the largest of `values` has one to three digits before the point: [name, its size].
function axisUnit(values, units, step) {
  const index = Math.max(0, Math.min(units.length - 1, Math.floor(Math.log(Math.max(1, ...values)) / Math.log(step))));
  return [units[index], step ** index];
}

// Rows {number, part, value, ...tips}; parts: [[name, [label, colour]], ...] in the order of the stack.
function stackedBars(names, rows, parts, xTitle, axisFormat, domain, titles) {
  const axis = layerAxis(names);
  return {
    params: axis.params,
    height: ROW_HEIGHT * names.length,
    data: {values: rows},
    mark: {type: "bar", stroke: cssColour("--paper"), strokeWidth: 0.7, height: {band: 0.78}},
    encoding: {
      y: axis.y,
      x: {field: "value", type: "quantitative", stack: "zero", title: xTitle,
        axis: {labelExpr: `format(datum.value, "${axisFormat}")`, tickCount: 5, labelFlush: true}, scale: domain ? {domain} : {}},
      color: {field: "part", type: "nominal", legend: null,
        scale: {domain: parts.map(([name]) => name), range: parts.map(([, part]) => colour(part[1]))}},
      order: {field: "order", type: "quantitative"},
      tooltip: tips(...titles),
    },
  };
}

const keyOf = (parts) => parts.map(([, part]) => ({label: part[0], colour: part[1], explanation: part[2]}));

// [name, [label, colour, explanation]] of the parts that any row has.
function presentParts(all, has) {
  return Object.entries(all).filter(([name]) => has(name));
}

function cyclesSpec(layers, parts) {
  const rows = layers.flatMap((layer) => parts.map(([name, part], order) => ({
    number: layer.number, part: name, order, value: layer.critical_path_cycles[name],
    tip_Layer: layer.name, tip_Cause: part[0], tip_Cycles: count(layer.critical_path_cycles[name]),
    "tip_Of the layer": percent(layer.cycles ? layer.critical_path_cycles[name] / layer.cycles : 0), tip_Means: part[2],
  })).filter((row) => row.value > 0));
  return stackedBars(layers.map((layer) => layer.name), rows, parts, "cycles", "~s", null, ["Layer", "Cause", "Cycles", "Of the layer", "Means"]);
}

// The parts of the array's time: useful, idle lanes, and what the critical path was at while the array waited.
function arrayParts(run) {
  return Object.entries(run.array_time_labels).map(([name, label]) => {
    const known = ARRAY_PARTS[name] || PATH_PARTS[name.replace(/^wait_/, "")];
    const waits = name.startsWith("wait_") && known;
    return [name, [label, known ? known[1] : "grey", waits ? "no EXECUTE occupies the array: " + known[2] : known ? known[2] : label]];
  });
}

function utilizationSpec(run, layers, parts) {
  const rows = layers.flatMap((layer) => parts.map(([name, part], order) => {
    const all = pesOf(run) * layer.cycles;
    const share = all > 0 ? (layer.array_time_pe_cycles[name] || 0) / all : 0;
    return {number: layer.number, part: name, order, value: share, tip_Layer: layer.name, "tip_The PEs": part[0],
      tip_Share: percent(share), tip_Means: part[2]};
  }).filter((row) => row.value > 0));
  return stackedBars(layers.map((layer) => layer.name), rows, parts, "share of PEs x cycles", ".0%", [0, 1], ["Layer", "The PEs", "Share", "Means"]);
}

function energySpec(run, layers, parts) {
  const unit = run.run.energy.unit;
  const units = unit === "pJ" ? ["pJ", "nJ", "uJ", "mJ", "J"] : [unit, "1,000 x " + unit, "1,000,000 x " + unit];
  const [axisName, size] = axisUnit(layers.map((layer) => layer.energy), units, 1000);
  const rows = layers.flatMap((layer) => parts.map(([name, part], order) => ({
    number: layer.number, part: name, order, value: layer.energy_parts[name] / size, tip_Layer: layer.name, tip_Component: part[0],
    tip_Energy: energyText(layer.energy_parts[name], unit),
    "tip_Of the layer": percent(layer.energy ? layer.energy_parts[name] / layer.energy : 0), tip_Means: part[2],
  })).filter((row) => row.value > 0));
  return stackedBars(layers.map((layer) => layer.name), rows, parts, "energy in " + axisName, ",~g", null,
    ["Layer", "Component", "Energy", "Of the layer", "Means"]);
}

const DIRECTIONS = {
  dram_read_bytes: ["reads", "blue", TERMS.read[1]],
  dram_write_bytes: ["writes", "vermillion", TERMS.write[1]],
};

// Reads and writes as one bar, with a mark at the least bytes that any mapping moves.
function dramSpec(layers) {
  const [axisName, size] = axisUnit(layers.map((layer) => bytesOf(layer)), ["bytes", "kB", "MB", "GB", "TB"], 1000);
  const tipsOf = (layer) => ({tip_Layer: layer.name, "tip_Together": exactBytes(bytesOf(layer)),
    "tip_At least": layer.bounds ? exactBytes(layer.bounds.dram_bytes) : "not known", "tip_Times the least": timesLeast(layer)});
  const parts = Object.entries(DIRECTIONS);
  const rows = layers.flatMap((layer) => parts.map(([field, part], order) => ({number: layer.number, part: field, order, value: layer[field] / size,
    ...tipsOf(layer), tip_Bytes: `${exactBytes(layer[field])} ${part[0]}`, tip_Means: part[2]})));
  const titles = ["Layer", "Bytes", "Together", "At least", "Times the least", "Means"];
  const {mark, encoding, data, ...bars} = stackedBars(layers.map((layer) => layer.name), rows, parts, axisName, ",~g", null, titles);
  const least = layers.filter((layer) => layer.bounds).map((layer) => ({number: layer.number, value: layer.bounds.dram_bytes / size, ...tipsOf(layer)}));
  return {...bars, layer: [
    {data, mark, encoding},
    ...(least.length === 0 ? [] : [{data: {values: least},
      mark: {type: "tick", thickness: 3, orient: "vertical", color: cssColour("--ink"), size: ROW_HEIGHT - 2},
      encoding: {y: encoding.y, x: {field: "value", type: "quantitative"}, tooltip: tips("Layer", "Together", "At least", "Times the least")}}]),
  ]};
}

// [1, 3, 4, 5] -> "1, 3-5"; ascending numbers.
function rangesText(numbers) {
  const ranges = [];
  for (const number of numbers) {
    const last = ranges[ranges.length - 1];
    if (last && last[1] + 1 === number) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([from, to]) => (from === to ? String(from) : from + "-" + to)).join(", ");
}

// The values 1, 2 and 5 times a power of ten in [least, most]: ticks of a logarithmic axis.
function logTicks(least, most) {
  const ticks = [];
  for (let power = 10 ** Math.floor(Math.log10(least)); power <= most; power *= 10) {
    ticks.push(...[1, 2, 5].map((digit) => digit * power).filter((tick) => tick >= least && tick <= most));
  }
  return ticks;
}

// Numbers of points that are closer than a label is wide become one label: [{x, y, text}] for points
// {x, y, number}, x and y in pixels.
function clusteredLabels(points) {
  const labels = [];
  for (const point of points) {
    const near = labels.find((label) => Math.abs(label.x - point.x) < 16 + 3.5 * label.text.length && Math.abs(label.y - point.y) < 15);
    if (near) {
      near.numbers.push(point.number);
      near.text = rangesText(near.numbers);
    } else {
      labels.push({...point, numbers: [point.number], text: String(point.number)});
    }
  }
  return labels;
}

// The roof is min(PEs, bus_bytes x MACs per byte); a layer is a point beneath it.
function rooflineSpec(run, layers, pixels) {
  const points = layers.filter((layer) => layer.intensity > 0 && layer.rate > 0);
  const peak = pesOf(run);
  const bus = run.run.config.bus_bytes;
  const ridge = peak / bus;
  const least = Math.min(ridge, ...points.map((point) => point.intensity)) / 2;
  const most = Math.max(ridge, ...points.map((point) => point.intensity)) * 2;
  const bottom = Math.min(least * bus, ...points.map((point) => point.rate / 1.6));
  const roof = [least, ridge, most].map((x) => ({x, y: Math.min(peak, x * bus),
    tip_Roof: `${count(peak)} PEs, ${count(bus)} bytes a cycle`, tip_Means: TERMS.attainable[1]}));
  const rows = points.map((point) => ({...point, tip_Layer: point.name, "tip_MACs per cycle": ratioText(point.rate),
    "tip_MACs per byte": ratioText(point.intensity), tip_Roof: ratioText(point.attainable), "tip_Of the roof": percent(point.of_roof),
    "tip_Limited by": `${LIMITERS[point.limited_by][0]}, busy ${percent(point.limiter_busy)}`, "tip_Share of cycles": percent(point.share)}));
  const height = 340;
  const across = (value) => (Math.log(value / least) / Math.log(most / least)) * pixels;
  const up = (value) => (Math.log(value / bottom) / Math.log((peak * 1.3) / bottom)) * height;
  const labels = clusteredLabels(points.map(({intensity, rate, number}) => ({intensity, rate, number, x: across(intensity), y: up(rate)})));
  const axis = (field, title, domain) => ({field, type: "quantitative", title, scale: {type: "log", domain, nice: false},
    axis: {values: logTicks(...domain), labelExpr: "format(datum.value, \"~r\")", labelOverlap: true, gridOpacity: 0.6}});
  const x = (field, title) => axis(field, title, [least, most]);
  const y = (field, title) => axis(field, title, [bottom, peak * 1.3]);
  const limiters = Object.entries(LIMITERS);
  const position = {x: x("intensity", "MACs per byte of the busier bus direction"), y: y("rate", "MACs per cycle")};
  return {
    height,
    layer: [
      {data: {values: roof}, mark: {type: "line", color: cssColour("--quiet"), strokeWidth: 2.5},
        encoding: {x: x("x"), y: y("y"), tooltip: tips("Roof", "Means")}},
      {data: {values: rows}, mark: {type: "point", filled: true, opacity: 0.9, stroke: cssColour("--paper"), strokeWidth: 1},
        encoding: {...position, size: {field: "share", type: "quantitative", scale: {domain: [0, 1], range: [90, 900]}, legend: null},
          color: {field: "limited_by", type: "nominal", legend: null,
            scale: {domain: limiters.map(([name]) => name), range: limiters.map(([, l]) => colour(l[1]))}},
          shape: {field: "limited_by", type: "nominal", legend: null, scale: {domain: limiters.map(([name]) => name), range: limiters.map(([, l]) => l[2])}},
          tooltip: tips("Layer", "MACs per cycle", "MACs per byte", "Roof", "Of the roof", "Limited by", "Share of cycles")}},
      {data: {values: labels}, mark: {type: "text", dy: 19, fontSize: 12}, encoding: {...position, text: {field: "text", type: "nominal"}}},
    ],
  };
}
