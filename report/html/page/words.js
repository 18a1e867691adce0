// What each number is, in words, and which colour stands for what. The terms are those of
// docs/reference/output.md.
"use strict";

// Okabe and Ito's colours, which colour-blind people can tell apart (Color Universal Design, 2008),
// and greys of different lightness. `black` follows the scheme.
const COLOURS = {
  blue: "#0072b2", sky: "#56b4e9", orange: "#e69f00", yellow: "#f0e442", green: "#009e73",
  vermillion: "#d55e00", purple: "#cc79a7", pale: "#cdd1d7", grey: "#9aa1ab", slate: "#5d646f",
};

// name: [label, colour, explanation]
const PATH_PARTS = {
  array: ["array streams", "blue", "an EXECUTE streams pixels through the array"],
  fold_bubbles: ["fold bubbles", "sky", "an EXECUTE occupies the array, but no pixel streams, because its fold has fewer pixels than the array has rows"],
  weights: ["loads of weights", "orange", "the read bus moves weights, and the layer waits for them"],
  activations: ["loads of activations", "yellow", "the read bus moves activations, and the layer waits for them"],
  parameters: ["loads of parameters", "pale", "the read bus moves biases and shifts, and the layer waits for them"],
  write_bus: ["stores", "vermillion", "the write bus moves the ofmap, and the layer waits for it"],
  post: ["POST", "purple", "POST requantizes psums, and the layer waits for it"],
  dram_latency: ["DRAM latency", "green", "a burst is in flight, and the layer waits for it"],
  array_latency: ["array latency", "grey", "the array fills or drains, and the layer waits for it"],
  post_latency: ["POST latency", "slate", "the pipeline of POST empties, and the layer waits for it"],
};

const ARRAY_PARTS = {
  useful: ["useful MACs", "blue", "the PE does a multiply-accumulate that the ofmap needs"],
  edge_lanes: ["idle rows and columns", "black", "pixels stream, but the layer fills fewer rows or columns than the array has"],
};

const ENERGY_PARTS = {
  macs: ["MACs", "blue", "the multipliers and adders of the PEs"],
  array_registers: ["array registers", "sky", "operands and psums that move from PE to PE"],
  adds: ["other additions", "pale", "additions in the accumulator and in POST"],
  activations: ["activation scratchpad", "yellow", "reads and writes of the activation scratchpad"],
  weights: ["weight scratchpad", "orange", "reads and writes of the weight scratchpad"],
  accumulator: ["accumulator", "purple", "reads and writes of psums"],
  outputs: ["output scratchpad", "grey", "reads and writes of the output scratchpad"],
  parameters: ["parameters", "black", "reads and writes of biases and shifts"],
  dram_read: ["DRAM reads", "green", "bits that are read from DRAM"],
  dram_write: ["DRAM writes", "vermillion", "bits that are written to DRAM"],
};

// name: [label, colour, shape, explanation]
const LIMITERS = {
  array: ["array", "blue", "circle", "the array is busy with pixels for most of the critical path: " +
    "the layer can only be faster with more PEs or a better use of them"],
  bubbles: ["bubbles", "sky", "circle", "the array is occupied, mostly without a pixel: a fold has fewer pixels than the array has rows"],
  weights: ["weights", "orange", "square", "the read bus is the longest part of the critical path, mostly with weights"],
  read_bus: ["read bus", "yellow", "square", "the read bus is the longest part of the critical path"],
  write_bus: ["write bus", "vermillion", "triangle-up", "the write bus is the longest part of the critical path"],
  post: ["POST", "purple", "diamond", "POST is the longest part of the critical path"],
  dependence: ["dependence", "green", "cross", "no unit limits the layer: its commands wait for latencies, one after the other"],
};

const LANES = {
  load_activations: ["LOAD activations", "yellow"],
  load_weights: ["LOAD weights", "orange"],
  load_parameters: ["LOAD parameters", "pale"],
  execute: ["EXECUTE", "blue"],
  post: ["POST", "purple"],
  store: ["STORE", "vermillion"],
};

const DATAFLOWS = {
  weight_stationary: ["weight_stationary", "blue", "circle"],
  output_stationary: ["output_stationary", "orange", "square"],
  input_stationary: ["input_stationary", "green", "triangle-up"],
  mixed: ["mixed", "purple", "diamond"],
};

// Of table columns, tiles and the list at the end of the page.
const TERMS = {
  layer: ["Layer", "one or more layers of the network that run as one: a convolution with its ReLU and max-pool"],
  point: ["Point", "a network on a configuration with a dataflow"],
  dataflow: ["Dataflow", "which operand stays in the PEs: weights, outputs (psums) or inputs (activations)"],
  mapping: ["Mapping", "how the layer is cut into tiles, in which order they run, and what stays on chip"],
  macs: ["MACs", "multiply-accumulates that the ofmap needs"],
  cycles: ["Cycles", "from the end of the previous layer's last STORE to the end of the layer's own; the layers add up to the run"],
  time: ["Simulated time", "cycles divided by the clock of the configuration"],
  share: ["Share", "the layer's part of all cycles"],
  utilization: ["Utilization", "useful MACs divided by PEs x cycles"],
  limited_by: ["Limited by", "the unit with the largest share of the layer's critical path"],
  limiter_busy: ["Busy", "the share of the layer's cycles in which that unit is occupied; of a dependence, its share of the critical path"],
  read: ["DRAM reads", "bytes that LOADs read from DRAM: activations, weights, biases and shifts"],
  write: ["DRAM writes", "bytes that STOREs write to DRAM"],
  least: ["The least", "bytes that any mapping of the layer moves at least: ifmap, weights, parameters and ofmap once each"],
  times_least: ["Times the least", "reads and writes together, divided by the least"],
  intensity: ["MACs per byte", "useful MACs divided by the bytes of the busier direction of the bus"],
  rate: ["MACs per cycle", "useful MACs divided by cycles"],
  attainable: ["Roof", "the most MACs per cycle for this layer: the PEs, or MACs per byte x the bytes that the bus moves a cycle, whichever is less"],
  of_roof: ["Of the roof", "MACs per cycle divided by the roof"],
  energy: ["Energy", "events x a table of energies, without leakage, clock and control"],
  energy_delay: ["Energy x cycles", "the energy-delay product, with cycles as the delay"],
  tops_per_watt: ["TOPS/W", "operations (a MAC is two) per second and watt, in 10^12"],
  area: ["Area", "of the accelerator's logic and memories"],
  pes: ["PEs", "processing elements: array_rows x array_cols"],
  sram: ["SRAM", "scratchpads and accumulator together"],
  busy: ["Busy cycles", "cycles in which the unit is occupied by a command"],
  stalls: ["Stalled cycles", "cycles in which a command waits for a token"],
  idle: ["Idle cycles", "cycles without a command; of the execute unit, its waits before the first and after the last EXECUTE of a layer"],
  pareto_front: ["Pareto front", "the points that no other beats: none is as good in all three of the numbers that the chart's caption names, and better in one"],
};
