import { parseArgs } from 'node:util';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import type { Transformer } from '../../engine/runtime/pass/transformer.ts';
import { pagesOf } from '../../engine/runtime/weights/mapped-weights.ts';
import { processReadBytes } from '../../engine/runtime/weights/process-counters.ts';

/**
 * Measures how fast a model larger than its memory decodes: bytes read per second of a token, as a share of the rate of
 * reading the same file without computing. `stream` is what --memory does (buffers, no page cache); `mapped` is the
 * policy populate and pinned in the page cache with the same number of bytes. Rounds are interleaved.
 *
 *     npx tsx test/bench/streaming.ts --model 1b-Q8_0.gguf --memory 620
 */
const { values: options } = parseArgs({
  options: {
    model: { type: 'string' },
    /** MiB */
    memory: { type: 'string', default: '600' },
    rounds: { type: 'string', default: '5' },
    tokens: { type: 'string', default: '2' },
    threads: { type: 'string', default: '2' },
  },
});
if (options.model === undefined) throw new Error('--model is missing');
const model = options.model;

const PROBE_BYTES = 2 ** 28;
const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] as number;
const read = (): number => processReadBytes() ?? Number.NaN;

const kernels = openKernels({ implementation: 'native', threads: Number(options.threads) });
const file = kernels.mapFile(model);
const pages = pagesOf(kernels, file);
const target = pages.buffer(PROBE_BYTES);

/** Bytes per second of the next piece of the file. */
function probe(round: number): number {
  const pieces = Math.max(1, Math.floor(file.size / PROBE_BYTES));
  const from = (round % pieces) * PROBE_BYTES;
  const range = { from, to: Math.min(file.size, from + PROBE_BYTES) };
  const { start, end } = pages.read(range, [{ buffer: target, offset: 0, bytes: range.to - range.from }]).wait();
  return (range.to - range.from) / (end - start);
}

/** Seconds and bytes of a token. */
function decode(transformer: Transformer): { seconds: number; bytes: number } {
  const tokens = Number(options.tokens);
  const [start, before] = [performance.now(), read()];
  for (let i = 0; i < tokens; i++) transformer.evaluate([5 + i]);
  return { seconds: (performance.now() - start) / 1e3 / tokens, bytes: (read() - before) / tokens };
}

const load = { kernels, context: 512 };
const stream = loadTransformer(model, { ...load, memory: Number(options.memory) * 2 ** 20 });
for (let i = 0; i < 3; i++) decode(stream);
const streamed = decode(stream).bytes;
const { bytes, embedding } = stream.model;
const pinnedBytes = Math.max(0, bytes - embedding.bytes - streamed);
const policy = { windowLayers: 1, weights: { prefetch: 'populate', release: 'pinned', pinned: pinnedBytes } } as const;
const mapped = loadTransformer(model, { ...load, policy });
for (let i = 0; i < 3; i++) decode(mapped);

const names = ['stream', 'mapped'] as const;
const results = Array.from({ length: Number(options.rounds) }, (_, round) => {
  const before = probe(2 * round);
  const tokens = { stream: decode(stream), mapped: decode(mapped) };
  return { disk: (before + probe(2 * round + 1)) / 2, ...tokens };
});
const disk = results.map((result) => result.disk);
console.log(
  `disk     ${(median(disk) / 1e6).toFixed(0)} MB/s (${disk.map((rate) => (rate / 1e6).toFixed(0)).join(', ')})`,
);
for (const name of names) {
  const shares = results.map((result) => result[name].bytes / result[name].seconds / result.disk);
  const token = median(results.map((result) => result[name].seconds));
  const megabytes = median(results.map((result) => result[name].bytes)) / 1e6;
  console.log(
    `${name}   ${token.toFixed(3)} s/token, ${megabytes.toFixed(0)} MB/token, share of the disk’s rate: median ` +
      `${median(shares).toFixed(2)} (${shares.map((share) => share.toFixed(2)).join(', ')})`,
  );
}
kernels.close();
