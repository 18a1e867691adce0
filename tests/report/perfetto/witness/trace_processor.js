// Runs SQL on a trace with Perfetto's own trace processor, the WebAssembly module of ui.perfetto.dev,
// in a worker of a browser. A message {bundle, wasm, trace} starts it: the text of engine_bundle.js, and the
// bytes of trace_processor.wasm and of the trace; the answer is {ready: true}. Then each message
// {query: TEXT} has {rows: [...]} as its answer. {error: TEXT} is the answer where something fails.
'use strict';

// Requests and fields of perfetto.protos.TraceProcessorRpc.
const APPEND_TRACE_DATA = 1, FINALIZE_TRACE_DATA = 2, QUERY_STREAMING = 3;
const REQUEST = 2, APPEND = 101, QUERY_ARGS = 103, APPEND_RESULT = 201, QUERY_RESULT = 203;

function varint(value) {
  const bytes = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push(value % 128 + 128);
  bytes.push(value);
  return Uint8Array.from(bytes);
}
function concat(parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
const number = (field, value) => concat([varint(field * 8), varint(value)]);
const bytes = (field, value) => concat([varint(field * 8 + 2), varint(value.length), value]);
const text = (value) => new TextDecoder().decode(value);

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
  // [field, value]: a BigInt, or bytes.
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
  const columns = results.flatMap((r) => of(r, 1).map(text));
  const error = results.flatMap((r) => of(r, 2).map(text)).join('');
  if (error) throw new Error(error);
  const cells = [];
  for (const batch of results.flatMap((r) => of(r, 3)).map(fields)) {
    const numbers = new Reader(concat(of(batch, 2)));
    const reals = new DataView(concat(of(batch, 3)).buffer);
    const texts = of(batch, 5).map(text).join('').split('\0');
    let real = 0, nextText = 0;
    for (const type of concat(of(batch, 1))) {
      if (type === 1) cells.push(null);
      else if (type === 2) cells.push(Number(numbers.varint()));
      else if (type === 3) cells.push(reals.getFloat64(8 * real++, true));
      else if (type === 4) cells.push(texts[nextText++]);
      else throw new Error(`a cell of type ${type}`);
    }
  }
  const table = [];
  for (let i = 0; i < cells.length; i += columns.length) table.push(cells.slice(i, i + columns.length));
  return table;
}

// The bundle is made to be a worker of ui.perfetto.dev. `answer` gets each reply.
function startEngine(bundle, wasm, answer) {
  const port = {postMessage: (reply) => answer(new Uint8Array(reply)), onmessage: null};
  // It fetches one file, and waits for it.
  class XMLHttpRequest {
    open() {}
    send() { this.response = wasm.slice().buffer; }
  }
  const worker = {location: {href: 'https://ui.perfetto.dev/'}};
  // What is to be another in it than in this worker.
  const names = {
    self: worker, location: worker.location, XMLHttpRequest, WorkerGlobalScope: function () {},
    importScripts: () => {}, console: {...console, warn: () => {}}, WebAssembly: wasmOf32Bits(),
  };
  new Function(...Object.keys(names), bundle)(...Object.values(names));
  worker.onmessage({data: port});
  return (request) => port.onmessage({data: request});
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

let call = null;  // of a TraceProcessorRpc: the fields of each reply

async function start({bundle, wasm, trace}) {
  let replies = [];
  const ask = startEngine(bundle, wasm, (reply) => { replies.push(reply.slice()); });
  call = (request) => {
    replies = [];
    ask(bytes(1, request));
    return of(fields(concat(replies)), 1).map(fields);
  };
  await new Promise((done) => setTimeout(done, 0));  // the engine is set up in promises
  for (let at = 0; at < trace.length; at += 1 << 24) {
    const reply = call(concat([number(REQUEST, APPEND_TRACE_DATA), bytes(APPEND, trace.subarray(at, at + (1 << 24)))]));
    const error = reply.flatMap((r) => of(r, APPEND_RESULT)).map(fields).flatMap((r) => of(r, 2)).map(text).join('');
    if (error) throw new Error(error);
  }
  call(number(REQUEST, FINALIZE_TRACE_DATA));
  return {ready: true};
}

function ask(query) {
  const request = bytes(QUERY_ARGS, bytes(1, new TextEncoder().encode(query)));
  const reply = call(concat([number(REQUEST, QUERY_STREAMING), request]));
  return {rows: rows(reply.flatMap((r) => of(r, QUERY_RESULT)).map(fields))};
}

self.onmessage = async ({data}) => {
  try {
    self.postMessage(data.query === undefined ? await start(data) : ask(data.query));
  } catch (error) {
    // Not more of it: an error may quote the whole bundle.
    self.postMessage({error: String((error && error.message) || error).slice(0, 2000)});
  }
};
