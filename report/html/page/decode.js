// The page's data: the runs, and the spans of their timelines.
"use strict";

const PAGE = JSON.parse(document.getElementById("page-data").textContent);

// The inverse of lane_text() in report/html/timeline.cpp: arrays of numbers, one a span.
function decodeLane(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const lane = {begin: [], end: [], busy: [], first: [], commands: [], layer: []};
  let at = 0;
  const number = () => {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = bytes[at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  };
  let end = 0;
  let first = 0;
  let layer = 0;
  while (at < bytes.length) {
    const begin = end + number();
    end = begin + number();
    const busy = end - begin - number();
    const commands = number() + 1;
    const step = number();
    layer += step % 2 === 0 ? step / 2 : -(step + 1) / 2;
    lane.begin.push(begin);
    lane.end.push(end);
    lane.busy.push(busy);
    lane.first.push(first);
    lane.commands.push(commands);
    lane.layer.push(layer);
    first += commands;
  }
  return lane;
}

// The first index of `sorted` whose value is above `value`.
function upperBound(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

const pesOf = (run) => run.run.config.array_rows * run.run.config.array_cols;
const sramKibOf = (run) => {
  const config = run.run.config;
  return config.act_scratchpad_kib + config.weight_scratchpad_kib + config.accumulator_kib + config.output_scratchpad_kib;
};

// Of a layer or of the total.
const bytesOf = (layer) => layer.dram_read_bytes + layer.dram_write_bytes;
const timesLeast = (layer) => (layer.bounds && layer.bounds.dram_bytes > 0 ? ratioText(bytesOf(layer) / layer.bounds.dram_bytes) : "-");

// [{name, cycles, share, ...}]: the layers with what the charts need of them.
function layersOf(run) {
  const total = run.run.total.cycles;
  let begin = 0;
  return run.run.layers.map((layer, index) => {
    const busier = Math.max(layer.dram_read_bytes, layer.dram_write_bytes);
    const intensity = busier > 0 ? layer.macs / busier : 0;
    const attainable = Math.min(pesOf(run), intensity * run.run.config.bus_bytes);
    const rate = layer.cycles > 0 ? layer.macs / layer.cycles : 0;
    const row = {...layer, index, number: index + 1, begin, share: total > 0 ? layer.cycles / total : 0, intensity, attainable, rate,
      of_roof: attainable > 0 ? rate / attainable : 0, words: run.layer_words[index]};
    begin += layer.cycles;
    return row;
  });
}
