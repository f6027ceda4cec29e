import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { TINY } from '../../engine/gguf/make/made-model.ts';
import { makeGguf } from '../../engine/gguf/make/make-gguf.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { uniformShape } from '../../engine/model/architecture.ts';
import { ringTrace } from '../../engine/ring/head/trace.ts';
import { createKeys, writeKeys } from '../../engine/ring/wire/keys.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { startWorkerProcess } from '../ring/processes.ts';
import { equalLayout, headHere, requestOf } from '../ring/ring-in-process.ts';
import { bareHop } from './bare-hop.ts';
import { summarise } from './measure.ts';

/**
 * Measures the cost of the ring itself: a token on four worker processes on loopback, with one thread each and
 * everything in memory, compared with a token in one process, in turns. With few processors and other load some tokens
 * are late, so medians and minima are shown. A hop lasts from handing a result to the transport until the next device
 * has it; it is compared with ZeroMQ alone, with pauses as long as a window.
 */
const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    tokens: { type: 'string', default: '60' },
    rounds: { type: 'string', default: '1,8' },
    plain: { type: 'boolean', default: false },
    help: { type: 'boolean' },
  },
});

const WORKERS = ['a', 'b', 'c', 'd'];
const CONTEXT = 256;
/** Targets: the share of the single process's token, and seconds for each of four hops. */
const [SHARE, HOP] = [0.05, 150e-6];

/** 32 layers, so that eight rounds of four devices have one each; 190 MiB. */
async function benchModel(): Promise<string> {
  const folder = join(tmpdir(), 'hearth-bench');
  const path = join(folder, 'ring-32.gguf');
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const shape = { ...TINY, name: 'ring-32', layers: 32, hiddenSize: 1024, ffnSize: 2816, heads: 16, kvHeads: 4 };
  await makeGguf({
    shape: uniformShape({ ...shape, headSize: 64, vocabularySize: 8192 }),
    mix: 'Q4_K_M',
    seed: 1,
    path,
  });
  return path;
}

async function bench(path: string, rounds: number, count: number): Promise<void> {
  const keys = values.plain ? undefined : createKeys();
  const folder = mkdtempSync(join(tmpdir(), 'hearth-keys-'));
  const workers = WORKERS.map((name) => ({ name, file: join(folder, name) }));
  const ownKeys = workers.map(({ file }) => (keys === undefined ? undefined : writeKeys(file)));
  const processes = await Promise.all(
    workers.map(({ file }) => startWorkerProcess(path, ...(keys ? ['--keys', file, '--head', keys.publicKey] : []))),
  );
  rmSync(folder, { recursive: true });
  const members = workers.map(({ name }, index) => ({
    name,
    address: processes[index]?.address as string,
    publicKey: ownKeys[index]?.publicKey,
  }));
  const size = { context: CONTEXT, requests: 1, pageTokens: CONTEXT };
  const settings = { ...size, kvCache: 'F16', activations: 'F32', chunk: 128 } as const;
  // Recording takes time too: tokens are timed without it, hops afterwards.
  const { head } = headHere(path, members, { settings: { ...settings, trace: false }, keys });
  const kernels = openKernels({ threads: 1 });
  const single = loadTransformer(path, { kernels, context: CONTEXT });
  await head.gather();
  const layout = equalLayout(WORKERS, single.model.layers, rounds);
  const { windows } = layout;
  await head.assemble(layout);
  const request = requestOf(head);
  const [alone, ring]: [number[], number[]] = [[], []];
  const timed = async (into: number[], run: () => unknown): Promise<void> => {
    const start = performance.now();
    await run();
    into.push((performance.now() - start) / 1000);
  };
  const prompt = [1, 2, 3, 4];
  single.evaluate(prompt);
  await request.evaluate(prompt);
  let differences = 0;
  for (let token = 0; token < count + 5; token++) {
    if (token === 5) {
      alone.length = 0;
      ring.length = 0;
    }
    let logits: Float32Array = new Float32Array(0);
    await timed(alone, () => {
      logits = single.evaluate([token]).slice();
    });
    await timed(ring, async () => {
      const found = await request.evaluate([token]);
      if (found.some((value, index) => value !== logits[index])) differences += 1;
    });
  }
  await head.close();
  const { head: traced } = headHere(path, members, { settings: { ...settings, trace: true }, keys });
  await traced.gather();
  await traced.assemble(layout);
  const again = requestOf(traced);
  await again.evaluate(prompt);
  const start = performance.now() / 1000;
  for (let token = 0; token < count; token++) await again.evaluate([token]);
  const trace = ringTrace(await traced.collectSpans(), [{ phase: 'decode', start, end: performance.now() / 1000 }]);
  const hops = summarise(trace.spans.filter(({ lane }) => lane === 'link').map((span) => span.end - span.start));
  const [a, r] = [summarise(alone), summarise(ring)];
  const [least, most] = [Math.min(...alone), Math.min(...ring)];
  const hopsPerToken = windows.length + 1;
  const bare = await bareHop(single.model.hiddenSize * Float32Array.BYTES_PER_ELEMENT, a.median / windows.length);
  const micro = (seconds: number): string => `${(1e6 * seconds).toFixed(0)} µs`;
  const milli = (seconds: number): string => `${(1e3 * seconds).toFixed(2)} ms`;
  const allowed = a.median * (1 + SHARE) + (hopsPerToken - 1) * HOP;
  console.log(
    [
      `k = ${rounds}, ${windows.length} windows, ${differences} of ${count + 5} tokens with other logits:`,
      `  one process ${milli(a.median)} (median; quickest ${milli(least)}), ring ${milli(r.median)} (quickest ${milli(most)})`,
      `  ring / one process ${(r.median / a.median).toFixed(3)}; allowed ${milli(allowed)}: ${r.median <= allowed ? 'kept' : 'missed'}`,
      `  more per hop ${micro((r.median - a.median) / hopsPerToken)} median, ${micro((most - least) / hopsPerToken)} quickest`,
      `  a hop ${micro(hops.median)} median, ${micro(hops.p95)} p95 of ${hops.runs}; ZeroMQ alone ${micro(bare.median)} median, ${micro(bare.p95)} p95`,
    ].join('\n'),
  );
  await traced.close();
  kernels.close();
  for (const { running } of processes) running.child.kill('SIGTERM');
  await Promise.all(processes.map(({ running }) => running.ended));
}

if (values.help === true) {
  console.log('usage: ring.ts [--model m.gguf] [--tokens 60] [--rounds 1,8] [--plain]');
} else {
  const path = values.model ?? (await benchModel());
  for (const rounds of values.rounds.split(',')) await bench(path, Number(rounds), Number(values.tokens));
}
