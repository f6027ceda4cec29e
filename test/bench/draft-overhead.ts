import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { randomStream } from '../../engine/input/random-stream.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { createBatchEngine } from '../../engine/runtime/batch/create-batch-engine.ts';
import { createDraftModel } from '../../engine/runtime/batch/draft-model.ts';
import { loadSequences, loadTexts } from '../../engine/runtime/load/load-transformer.ts';

/**
 * The cost of drafts where none is accepted: the processor time of a token in two engines by turns, with guesses and
 * without. The texts are drawn at random from a few tokens, whatever the model says: with few, lookups find much that is
 * wrong; with many, nothing.
 */
const { values } = parseArgs({
  options: {
    model: { type: 'string', default: 'datasets/models/stories-3m.gguf' },
    draft: { type: 'string' },
    requests: { type: 'string', default: '1,4,8' },
    alphabets: { type: 'string', default: '30,800' },
    tokens: { type: 'string', default: '200' },
    rounds: { type: 'string', default: '24' },
  },
});
const SIZE = { context: 256, pages: 64, pageTokens: 64, folder: tmpdir() } as const;
const TOKENIZER = { bytesOf: () => Uint8Array.of(97), stops: new Set<number>() };
const tokens = Number(values.tokens);
const kernels = openKernels({ threads: 1 });

async function engineOf(isDrafting: boolean) {
  const sequences = loadSequences(values.model, { kernels, ...SIZE });
  if (!isDrafting) return createBatchEngine({ sequences, tokenizer: TOKENIZER });
  const draft =
    values.draft === undefined ? undefined : loadTexts(values.draft, { kernels, context: SIZE.context, texts: 16 });
  const { vocabularySize } = sequences.model;
  const clock = () => performance.now() / 1000;
  const model = draft && (await createDraftModel({ texts: draft, vocabularySize, stops: new Set(), clock }));
  return createBatchEngine({ sequences, tokenizer: TOKENIZER, drafts: { lookup: 4, model, tokens: undefined } });
}

for (const requests of values.requests.split(',').map(Number))
  for (const alphabet of values.alphabets.split(',').map(Number)) {
    const engines = await Promise.all([false, true].map(engineOf));
    const seconds: number[][] = [[], []];
    for (let round = -4; round < Number(values.rounds); round++)
      for (const which of round % 2 === 0 ? [0, 1] : [1, 0]) {
        const start = process.cpuUsage();
        const texts = Array.from({ length: requests }, (_, index) => {
          const stream = randomStream(round, `text ${index}`);
          const sampler = () => 200 + stream.integer(0, alphabet - 1);
          return engines[which]?.submit({ prompt: [1, 2, 3], tokens, sampler }).result;
        });
        await Promise.all(texts);
        const { user, system } = process.cpuUsage(start);
        if (round >= 0) seconds[which]?.push((user + system) / 1e6);
      }
    const [plain = [], drafting = []] = seconds;
    const sum = (all: readonly number[]): number => all.reduce((a, b) => a + b, 0);
    const ratios = plain.map((one, index) => (drafting[index] as number) / one).toSorted((a, b) => a - b);
    const { drafted = 0, accepted = 0 } = engines[1]?.load ?? {};
    const token = (1e6 * sum(plain)) / plain.length / tokens / requests;
    console.log(
      `${requests} texts, ${alphabet} tokens: ${token.toFixed(0)} µs a token; with guesses × ${(sum(drafting) / sum(plain)).toFixed(3)}, median × ${ratios[ratios.length >> 1]?.toFixed(3)}; ${accepted} of ${drafted} right`,
    );
    for (const engine of engines) await engine.close();
  }
kernels.close();
