// node compare.mjs [--rounds N] [--figures] BIN_DIR ORT_DIR WORKLOAD.yaml...
// The golden library and ONNX Runtime on the same network, one thread each, in the same run: N
// rounds in turn, each a median of 9 forward passes, and of these medians the median and the least;
// and whether the last layers' bytes agree. BIN_DIR holds golden_cpu_bench and golden_export_onnx,
// ORT_DIR is what tools/ort/install.sh filled. One JSON object per workload on stdout; with --figures,
// which makes it 9 rounds, the figures of bench/README.md.
// Compare on uint8 networks such as vgg16: on int8 activations ONNX Runtime 1.30 was measured at
// 12 GMAC/s, on uint8 at 380.
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {parseArgs} from 'node:util';

const RUNS = '9';

function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

function runJson(program, args) {
  return JSON.parse(execFileSync(program, args, {encoding: 'utf8'}));
}

// The elements of a .npy file: 1.0 headers give their own length.
function npyData(file) {
  const bytes = fs.readFileSync(file);
  return bytes.subarray(10 + bytes.readUInt16LE(8));
}

function sameBytes(expected, outdir) {
  const [name] = fs.readdirSync(outdir);
  return npyData(expected).equals(npyData(path.join(outdir, name)));
}

function compare(binDir, ortDir, workload, rounds, folder) {
  const outdir = path.join(folder, 'ort');
  const golden = [];
  const goldenCpu = [];
  const ort = [];
  let shareOfPeak = 0;
  execFileSync(path.join(binDir, 'golden_export_onnx'), [workload, folder]);
  for (let round = 0; round < rounds; round++) {
    const found = runJson(path.join(binDir, 'golden_cpu_bench'), ['--runs', RUNS, workload]);
    golden.push(found.median_ms);
    goldenCpu.push(found.cpu_ms);
    shareOfPeak = Math.max(shareOfPeak, found.share_of_peak);
    ort.push(runJson('node', [
      path.join(ortDir, 'run_onnx.mjs'), '--repeat', RUNS, path.join(folder, 'model.onnx'),
      path.join(folder, 'input.npy'), outdir,
    ]).median_ms);
  }
  const agree = sameBytes(path.join(folder, 'expected.npy'), outdir);
  return {
    workload: path.basename(workload, '.yaml'),
    rounds,
    samples: {golden, ort},
    golden_ms: median(golden),
    ort_ms: median(ort),
    golden_least_ms: Math.min(...golden),
    ort_least_ms: Math.min(...ort),
    golden_cpu_ms: median(goldenCpu),
    golden_over_ort: Number((median(golden) / median(ort)).toFixed(3)),
    golden_share_of_vnni_peak: shareOfPeak,
    bytes_agree: agree,
  };
}

// As bench/common/figure.py: median and quartiles by rank.
function figure(name, samples, kind, unit) {
  const sorted = [...samples].sort((a, b) => a - b);
  const last = sorted.length - 1;
  const quarter = Math.floor(last / 4);
  return JSON.stringify({
    name, value: sorted[Math.floor(sorted.length / 2)], unit, kind, runs: sorted.length,
    spread: [sorted[quarter], sorted[last - quarter]],
  });
}

function printFigures({workload, samples, bytes_agree: agree}) {
  if (!agree) throw new Error(`${workload}: golden and ONNX Runtime differ in bytes`);
  const name = `golden_vs_ort/${workload}`;
  const seconds = (ms) => ms.map((value) => value * 1e-3);
  const ratios = samples.golden.map((value, round) => value / samples.ort[round]);
  console.log(figure(`${name}/golden`, seconds(samples.golden), 'time', 's'));
  console.log(figure(`${name}/onnxruntime`, seconds(samples.ort), 'time', 's'));
  console.log(figure(`${name}/golden_over_onnxruntime`, ratios, 'ratio', '1'));
}

function main() {
  const {values, positionals} = parseArgs({
    allowPositionals: true,
    options: {rounds: {type: 'string'}, figures: {type: 'boolean', default: false}},
  });
  const [binDir, ortDir, ...workloads] = positionals.map((file) => path.resolve(file));
  if (workloads.length === 0) {
    console.error('usage: compare.mjs [--rounds N] [--figures] BIN_DIR ORT_DIR WORKLOAD.yaml...');
    process.exit(2);
  }
  for (const workload of workloads) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'golden_vs_ort-'));
    try {
      const rounds = Number(values.rounds ?? (values.figures ? 9 : 3));
      const {samples, ...found} = compare(binDir, ortDir, workload, rounds, folder);
      if (values.figures) {
        printFigures({samples, ...found});
      } else {
        console.log(JSON.stringify(found));
      }
    } finally {
      fs.rmSync(folder, {recursive: true});
    }
  }
}

main();
