import { parseArgs } from 'node:util';
import { PAGE_TOKENS } from '../../engine/batch/request-policy.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import { recoveringRing } from '../../engine/ring/head/lost-worker.ts';
import { ringSequences } from '../../engine/ring/head/ring-sequences.ts';
import { createRingTexts } from '../../engine/ring/head/ring-texts.ts';
import { createBatchEngine } from '../../engine/runtime/batch/create-batch-engine.ts';
import { createSampler, SAMPLER_DEFAULTS } from '../../engine/text/sampling/sampler.ts';
import { startWorkerProcess } from '../ring/processes.ts';
import { equalLayout, headHere, loadOnOneThread } from '../ring/ring-in-process.ts';

/**
 * Measures texts that go through a ring together: tokens per second by their number, with weights in memory and with
 * weights that every pass reads from the disk. The head and two worker processes compute on one thread each and share
 * this machine. Numbers of texts take turns; best and median of the rounds are shown.
 */
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    texts: { type: 'string', default: '1,2,4,8' },
    tokens: { type: 'string', default: '6' },
    rounds: { type: 'string', default: '3' },
    help: { type: 'boolean' },
  },
});
const [path] = positionals;
if (options.help || path === undefined) {
  console.log('Usage: tsx test/bench/ring-batch.ts MODEL.gguf [--texts 1,2,4,8] [--tokens 6] [--rounds 3]');
  process.exit(options.help ? 0 : 2);
}

const CONTEXT = 64;
const WORKERS = ['a', 'b'];
const POLICIES = {
  'in memory': { prefetch: 'none', release: 'none' },
  'read for every pass': { prefetch: 'populate', release: 'drop' },
} as const;
const counts = options.texts.split(',').map(Number);
const [tokens, rounds] = [Number(options.tokens), Number(options.rounds)];
const TOKENIZER = { bytesOf: () => Uint8Array.of(97), stops: new Set<number>() };
const greedy = () => createSampler({ ...SAMPLER_DEFAULTS, temperature: 0 }, randomStream(1, 'sampler'));
const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] as number;

const processes = await Promise.all(WORKERS.map(() => startWorkerProcess(path)));
const members = WORKERS.map((name, index) => {
  return { name, address: processes[index]?.address as string, publicKey: undefined };
});
const { part } = loadOnOneThread(path);
const settings = { requests: Math.max(...counts), context: CONTEXT, kvCache: 'F16', activations: 'F32' } as const;
const { head } = headHere(path, members, {
  settings: { ...settings, pageTokens: PAGE_TOKENS, chunk: 128, trace: false },
});
const pages = settings.requests * Math.ceil(CONTEXT / PAGE_TOKENS);
await head.gather();

for (const [name, policy] of Object.entries(POLICIES)) {
  const weights = Object.fromEntries(['head', ...WORKERS].map((device) => [device, policy]));
  const layout = () => ({ ...equalLayout(['head', ...WORKERS], part.model.layers), weights });
  await head.assemble(layout());
  const ring = recoveringRing(head, layout, console.log);
  const texts = createRingTexts(ring, { contextLength: CONTEXT, pages, pageTokens: PAGE_TOKENS });
  const sequences = ringSequences({ model: part.model, texts, mostTokens: 512 });
  const rates = new Map(counts.map((count) => [count, [] as number[]]));
  for (let round = 0; round <= rounds; round++) {
    for (const count of counts) {
      const engine = createBatchEngine({ sequences, tokenizer: TOKENIZER });
      const running = Array.from({ length: count }, (_, seed) =>
        engine.submit({ prompt: [1 + seed, 5, 9, 13], tokens: tokens + 1, sampler: greedy() }),
      );
      const results = await Promise.all(running.map(({ result }) => result));
      await engine.close();
      const seconds = Math.min(...results.map(({ laterSeconds }) => laterSeconds));
      if (round > 0) rates.get(count)?.push((count * tokens) / seconds);
    }
  }
  const [one = 1] = [...rates.values()].map(median);
  for (const [count, own] of rates) {
    const gain = `${(median(own) / one).toFixed(2)} ×`;
    console.log(
      `${name}, ${count} texts: ${Math.max(...own).toFixed(2)} best, ${median(own).toFixed(2)} median tokens/s, ${gain}`,
    );
  }
}
await head.close();
for (const { running } of processes) running.child.kill('SIGTERM');
process.exit(0);
