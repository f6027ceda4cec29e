import { parseArgs } from 'node:util';
import { withFile } from '../../engine/gguf/file-source.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { generate } from '../../engine/text/generate.ts';
import { loadTokenizer } from '../../engine/text/load-tokenizer.ts';
import { createSampler, SAMPLER_DEFAULTS } from '../../engine/text/sampling/sampler.ts';
import { createSpeculation } from '../../engine/text/speculation/create-speculation.ts';
import { lookAhead } from '../../engine/text/speculation/look-ahead.ts';
import { createModelDrafter } from '../../engine/text/speculation/model-drafter.ts';

/**
 * The gain or cost of drafts of as many tokens as pay in `hearth generate`: the processor time of texts with them over that
 * without, by turns. Written by the model, greedily, and drawn at random whatever it says, of which no draft is right.
 */
const { values } = parseArgs({
  options: {
    model: { type: 'string', default: 'datasets/models/stories-3m.gguf' },
    draft: { type: 'string', default: 'datasets/models/stories-300k.gguf' },
    tokens: { type: 'string', default: '96,200' },
    rounds: { type: 'string', default: '60' },
    threads: { type: 'string', default: '1' },
  },
});
const PROMPTS = ['Once upon a time there was a little girl', 'One day, Ben', 'Tom had a red ball.', 'What is 12 + 30?'];
const GREEDY = { ...SAMPLER_DEFAULTS, temperature: 0 };
const kernels = openKernels({ implementation: 'native', threads: Number(values.threads) });
const model = loadTransformer(values.model, { kernels, context: 256 });
const draftModel = loadTransformer(values.draft, { kernels, context: 256 });
const tokenizer = loadTokenizer(withFile(values.model, readGguf));
const prompts = PROMPTS.map((text) => tokenizer.encode(text, { addSpecial: true }));
const drafter = createModelDrafter({
  model: draftModel,
  sampler: () => createSampler(GREEDY, lookAhead(randomStream(1, 'draft')).coming()),
  vocabularySize: draftModel.model.vocabularySize,
  stops: new Set(),
  clock: () => performance.now() / 1000,
});
const { vocabularySize } = model.model;
const endless = { bytesOf: () => new Uint8Array(0), stops: new Set<number>() };

/** Seconds of the processor. */
async function write(prompt: readonly number[], tokens: number, isRandom: boolean, isDrafting: boolean) {
  model.rewind(0);
  const speculation = isDrafting ? createSpeculation({ model, drafter }) : undefined;
  const stream = randomStream(tokens, 'text');
  const sampler = isRandom ? () => stream.integer(0, vocabularySize - 1) : createSampler(GREEDY, stream);
  const start = process.cpuUsage();
  const written = await generate({ model, speculation, tokenizer: endless, prompt, tokens, sampler });
  const { user, system } = process.cpuUsage(start);
  return { seconds: (user + system) / 1e6, text: written.tokens.join(), figures: speculation?.figures };
}

for (const tokens of values.tokens.split(',').map(Number))
  for (const isRandom of [false, true]) {
    const ratios: number[] = [];
    let [plain, drafting, drafted, accepted] = [0, 0, 0, 0];
    for (let round = -4; round < Number(values.rounds); round++)
      for (const prompt of prompts) {
        const first = await write(prompt, tokens, isRandom, round % 2 === 0);
        const second = await write(prompt, tokens, isRandom, round % 2 !== 0);
        const [without, own] = round % 2 === 0 ? [second, first] : [first, second];
        if (without.text !== own.text) throw new Error('the text with drafts is another one');
        if (round < 0) continue;
        ratios.push(own.seconds / without.seconds);
        plain += without.seconds;
        drafting += own.seconds;
        drafted += own.figures?.drafted ?? 0;
        accepted += own.figures?.accepted ?? 0;
      }
    ratios.sort((a, b) => a - b);
    console.log(
      `${tokens} tokens, ${isRandom ? 'drawn at random' : 'the model’s own'}: with drafts × ${(drafting / plain).toFixed(3)} of the processor time, median × ${ratios[ratios.length >> 1]?.toFixed(3)}; ${accepted} of ${drafted} accepted`,
    );
  }
kernels.close();
