// Runs SQL on a trace with Perfetto's own trace processor, the WebAssembly module of ui.perfetto.dev,
// without a browser. usage: node trace_processor.js UI_FOLDER TRACE < QUERIES
// QUERIES are the lines of stdin; for each, a line of JSON is printed: a list of rows, or
// {"error": TEXT}. UI_FOLDER has engine_bundle.js and trace_processor.wasm.
'use strict';
const fs = require('fs');
const path = require('path');

// Requests and fields of perfetto.protos.TraceProcessorRpc.
const APPEND_TRACE_DATA = 1, FINALIZE_TRACE_DATA = 2, QUERY_STREAMING = 3;
const REQUEST = 2, APPEND = 101, QUERY_ARGS = 103, APPEND_RESULT = 201, QUERY_RESULT = 203;

function varint(value) {
  const bytes = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push(value % 128 + 128);
  bytes.push(value);
  return Buffer.from(bytes);
}
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint(field * 8 + 2), varint(value.length), value]);

class Reader {
  constructor(buffer) { this.buffer = buffer; this.at = 0; }
  get ended() { return this.at >= this.buffer.length; }
  varint() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.buffer[this.at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asIntN(64, value);
    }
  }
  take(length) { return this.buffer.subarray(this.at, this.at += length); }
  // [field, value]: a BigInt, or a Buffer.
  next() {
    const tag = Number(this.varint());
    const type = tag & 7;
    const value = type === 0 ? this.varint() : this.take(type === 1 ? 8 : type === 5 ? 4 : Number(this.varint()));
    return [tag >> 3, value];
  }
}
function fields(buffer) {
  const all = [];
  for (const reader = new Reader(buffer); !reader.ended;) all.push(reader.next());
  return all;
}
const of = (list, field) => list.filter(([f]) => f === field).map(([, value]) => value);

// perfetto.protos.QueryResult, of several messages.
function rows(results) {
  const columns = results.flatMap((r) => of(r, 1).map(String));
  const error = results.flatMap((r) => of(r, 2).map(String)).join('');
  if (error) return {error};
  const cells = [];
  for (const batch of results.flatMap((r) => of(r, 3)).map(fields)) {
    const numbers = new Reader(Buffer.concat(of(batch, 2)));
    const reals = Buffer.concat(of(batch, 3));
    const texts = of(batch, 5).map(String).join('').split('\0');
    let real = 0, text = 0;
    for (const type of Buffer.concat(of(batch, 1))) {
      if (type === 1) cells.push(null);
      else if (type === 2) cells.push(Number(numbers.varint()));
      else if (type === 3) cells.push(reals.readDoubleLE(8 * real++));
      else if (type === 4) cells.push(texts[text++]);
      else return {error: `a cell of type ${type}`};
    }
  }
  const table = [];
  for (let i = 0; i < cells.length; i += columns.length) table.push(cells.slice(i, i + columns.length));
  return table;
}

// The worker of ui.perfetto.dev, which is made to see one around it. `answer` gets each reply.
function startEngine(folder, answer) {
  const port = {postMessage: (reply) => answer(Buffer.from(reply)), onmessage: null};
  // A worker may wait for a file.
  class XMLHttpRequest {
    open(method, url) { this.file = path.join(folder, path.basename(url)); }
    send() { this.response = new Uint8Array(fs.readFileSync(this.file)).buffer; }
  }
  const worker = {location: {href: 'https://ui.perfetto.dev/'}};
  // What a worker has and node has not, or the other way round.
  const names = {
    self: worker, location: worker.location, XMLHttpRequest, WorkerGlobalScope: function () {},
    importScripts: () => {}, process: undefined, console: {...console, warn: () => {}},
    WebAssembly: wasmOf32Bits(),
  };
  const bundle = fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8');
  new Function(...Object.keys(names), bundle)(...Object.values(names));
  worker.onmessage({data: port});
  return (request) => port.onmessage({data: new Uint8Array(request)});
}

// The bundle asks whether there is memory64 with a module that begins with its memory. The answer is no:
// the module of 32 bits is enough for a test.
function wasmOf32Bits() {
  const names = Object.getOwnPropertyNames(WebAssembly);
  const wasm = Object.fromEntries(names.map((name) => [name, WebAssembly[name]]));
  wasm.Module = new Proxy(WebAssembly.Module, {
    construct(target, [bytes]) {
      if (bytes.byteLength < 100 && bytes[8] === 5) throw new Error('no memory64');
      return new target(bytes);
    },
  });
  return wasm;
}

async function main() {
  const [folder, trace] = process.argv.slice(2);
  let replies = Buffer.alloc(0);
  const ask = startEngine(folder, (reply) => { replies = Buffer.concat([replies, reply]); });
  const call = (request) => {
    replies = Buffer.alloc(0);
    ask(bytes(1, request));
    return of(fields(replies), 1).map(fields);
  };
  await new Promise((done) => setTimeout(done, 0));  // the engine is set up in promises
  const data = fs.readFileSync(trace);
  for (let at = 0; at < data.length; at += 1 << 24) {
    const reply = call(Buffer.concat([number(REQUEST, APPEND_TRACE_DATA),
                                      bytes(APPEND, data.subarray(at, at + (1 << 24)))]));
    const error = reply.flatMap((r) => of(r, APPEND_RESULT)).map(fields).flatMap((r) => of(r, 2)).join('');
    if (error) throw new Error(error);
  }
  call(number(REQUEST, FINALIZE_TRACE_DATA));
  for (const query of fs.readFileSync(0, 'utf8').split('\n').filter((line) => line.trim())) {
    const reply = call(Buffer.concat([number(REQUEST, QUERY_STREAMING), bytes(QUERY_ARGS, bytes(1, Buffer.from(query)))]));
    console.log(JSON.stringify(rows(reply.flatMap((r) => of(r, QUERY_RESULT)).map(fields))));
  }
}

// Not the way of node, which prints the line of the error: that is the whole bundle.
function fail(error) {
  console.error(String((error && error.message) || error).slice(0, 2000));
  process.exit(1);
}
process.on('uncaughtException', fail);
process.on('unhandledRejection', fail);
main().then(() => process.exit(0), fail);
