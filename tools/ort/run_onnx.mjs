// Runs ONNX models with ONNX Runtime on one thread, .npy in and .npy out. It knows nothing of qsim.
//   node run_onnx.mjs [--optimization all|disabled] [--repeat N] MODEL.onnx INPUT.npy OUTDIR
//   node run_onnx.mjs [--optimization all|disabled] --batch LIST.json
// LIST.json: [{"model": FILE, "input": FILE, "outdir": DIR}, ...]. Every output goes to
// OUTDIR/<name>.npy, other characters than letters, digits, '.', '_', '-' of its name written '_'.
// --repeat N prints {"median_ms": T} of N further runs.
import fs from 'node:fs';
import path from 'node:path';
import {performance} from 'node:perf_hooks';
import {parseArgs} from 'node:util';
import ort from 'onnxruntime-node';

// .npy type code, ONNX Runtime's name and the JavaScript array of each element type.
const ELEMENT_TYPES = [
  {descr: '|i1', type: 'int8', array: Int8Array},
  {descr: '|u1', type: 'uint8', array: Uint8Array},
  {descr: '<i4', type: 'int32', array: Int32Array},
  {descr: '<f4', type: 'float32', array: Float32Array},
];

function elementType(key, value, file) {
  const found = ELEMENT_TYPES.find((entry) => entry[key] === value);
  if (!found) {
    const known = ELEMENT_TYPES.map((entry) => entry[key]).join(', ');
    throw new Error(`${file}: element type ${value}; supported: ${known}`);
  }
  return found;
}

function readNpy(file) {
  const bytes = fs.readFileSync(file);
  if (bytes.toString('latin1', 0, 6) !== '\x93NUMPY') throw new Error(`${file}: not a .npy file`);
  const wide = bytes[6] >= 2;
  const begin = wide ? 12 : 10;
  const end = begin + (wide ? bytes.readUInt32LE(8) : bytes.readUInt16LE(8));
  const header = bytes.toString('latin1', begin, end);
  const descr = header.match(/'descr': *'([^']*)'/)?.[1];
  const dims = header.match(/'shape': *\(([^)]*)\)/)?.[1];
  if (descr === undefined || dims === undefined || !/'fortran_order': *False/.test(header)) {
    throw new Error(`${file}: header ${header.trim()}; expected descr, C order and shape`);
  }
  const {type, array} = elementType('descr', descr, file);
  const shape = dims.split(',').filter((dim) => dim.trim() !== '').map(Number);
  const data = new Uint8Array(bytes.subarray(end));
  return new ort.Tensor(type, new array(data.buffer), shape);
}

function writeNpy(file, tensor) {
  const {descr} = elementType('type', tensor.type, file);
  const dims = tensor.dims.join(', ') + (tensor.dims.length === 1 ? ',' : '');
  const dictionary = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${dims}), }`;
  const header = dictionary.padEnd(Math.ceil((dictionary.length + 11) / 64) * 64 - 11) + '\n';
  const preamble = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 0, 0]);
  preamble.writeUInt16LE(header.length, 8);
  const {buffer, byteOffset, byteLength} = tensor.data;
  const data = Buffer.from(buffer, byteOffset, byteLength);
  fs.writeFileSync(file, Buffer.concat([preamble, Buffer.from(header, 'latin1'), data]));
}

async function medianMilliseconds(session, feeds, repeat) {
  const times = [];
  for (let i = 0; i < repeat; i++) {
    const begin = performance.now();
    await session.run(feeds);
    times.push(performance.now() - begin);
  }
  return times.sort((a, b) => a - b)[Math.floor(repeat / 2)];
}

async function runModel({model, input, outdir}, optimization, repeat) {
  const session = await ort.InferenceSession.create(model, {
    executionProviders: ['cpu'],
    graphOptimizationLevel: optimization,
    interOpNumThreads: 1,
    intraOpNumThreads: 1,
    logSeverityLevel: 3,
  });
  const feeds = {[session.inputNames[0]]: readNpy(input)};
  const outputs = await session.run(feeds);
  fs.mkdirSync(outdir, {recursive: true});
  for (const [name, tensor] of Object.entries(outputs)) {
    writeNpy(path.join(outdir, `${name.replace(/[^A-Za-z0-9._-]/g, '_')}.npy`), tensor);
  }
  if (repeat > 0) {
    console.log(JSON.stringify({median_ms: await medianMilliseconds(session, feeds, repeat)}));
  }
  await session.release();
}

async function main() {
  const {values, positionals} = parseArgs({
    allowPositionals: true,
    options: {
      batch: {type: 'string'},
      optimization: {type: 'string', default: 'all'},
      repeat: {type: 'string', default: '0'},
    },
  });
  if (positionals.length !== (values.batch === undefined ? 3 : 0)) {
    console.error('usage: run_onnx.mjs [--optimization all|disabled] [--repeat N] ' +
                  'MODEL.onnx INPUT.npy OUTDIR | --batch LIST.json');
    process.exit(2);
  }
  const [model, input, outdir] = positionals;
  const runs = values.batch === undefined ? [{model, input, outdir}] :
                                            JSON.parse(fs.readFileSync(values.batch, 'utf8'));
  for (const run of runs) {
    try {
      await runModel(run, values.optimization, Number(values.repeat));
    } catch (error) {
      throw new Error(`${run.model}: ${error.message}`);
    }
  }
}

try {
  await main();
} catch (error) {
  console.error(`run_onnx.mjs: ${error.message}`);
  process.exit(1);
}
