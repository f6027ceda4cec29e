import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { randomStream } from '../../engine/input/random-stream.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { recoveringRing } from '../../engine/ring/head/lost-worker.ts';
import { createRingTexts, ringModel } from '../../engine/ring/head/ring-texts.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { generate } from '../../engine/text/generate.ts';
import { createSampler, SAMPLER_DEFAULTS } from '../../engine/text/sampling/sampler.ts';
import { createSpeculation, type SpeculationFigures } from '../../engine/text/speculation/create-speculation.ts';
import { lookAhead } from '../../engine/text/speculation/look-ahead.ts';
import { createModelDrafter } from '../../engine/text/speculation/model-drafter.ts';
import { createPromptLookup } from '../../engine/text/speculation/prompt-lookup.ts';
import { madeFile } from '../runtime/made-file.ts';
import { equalLayout, headHere, SETTINGS, wholeTexts, workerHere } from './ring-in-process.ts';

const LAYERS = 4;
const TOKENS = 60;
const PROMPT = Array.from({ length: 20 }, (_, index) => (37 * index + 5) % 250);
const SIZE = { context: 96, kvCache: 'F32', warn: () => {} } as const;
const TOKENIZER = { bytesOf: (token: number) => Uint8Array.of(97 + (token % 26)), stops: new Set<number>() };
let [folder, path, other] = ['', '', ''];
test.before(async () => {
  // AMX rounds quantized products of many tokens more than those of one: a draft's choices wouldn't all be the ring's.
  folder = mkdtempSync(join(tmpdir(), 'hearth-ring-'));
  path = await madeFile({ folder, name: 'four', mix: 'F32', shape: { layers: LAYERS } });
  other = await madeFile({ folder, name: 'one', mix: 'F32', shape: { layers: 1 } });
});
test.after(() => rmSync(folder, { recursive: true }));

const sampling = (temperature: number) => ({ ...SAMPLER_DEFAULTS, temperature });

/** The text of one machine without drafts. */
async function alone(temperature: number): Promise<readonly number[]> {
  const kernels = openKernels({ threads: 1 });
  const sampler = createSampler(sampling(temperature), randomStream(3, 'sampler'));
  const model = loadTransformer(path, { kernels, ...SIZE });
  const { tokens } = await generate({ model, tokenizer: TOKENIZER, prompt: PROMPT, tokens: TOKENS, sampler });
  kernels.close();
  return tokens;
}

interface RingText {
  readonly tokens: readonly number[];
  readonly figures: SpeculationFigures;
  readonly log: readonly string[];
  /** Sizes of the passes through the ring. */
  readonly passes: readonly number[];
}

/** The text of a ring of a head and two workers, with drafts by a model. @param lose whether a worker is lost */
async function inRing(draft: string, temperature: number, lose = false): Promise<RingText> {
  const settings = { ...SETTINGS, context: SIZE.context, chunk: 8 };
  const workers = await Promise.all(['a', 'b'].map((name) => workerHere(name, path, { headKeys: undefined })));
  const members = workers.map(({ member }) => member);
  const { head, log } = headHere(path, members, { settings });
  const kernels = openKernels({ threads: 1 });
  try {
    await head.gather();
    const ring = recoveringRing(
      head,
      (devices) => equalLayout(devices, LAYERS, 2),
      (line) => log.push(line),
    );
    const passes: number[] = [];
    const texts = createRingTexts(ring, wholeTexts(SIZE.context));
    const model = ringModel({
      ...texts,
      async evaluate(work) {
        passes.push(work[0]?.tokens.length ?? 0);
        if (lose && passes.length === 6) workers[1]?.worker.close();
        return texts.evaluate(work);
      },
    });
    const stream = lookAhead(randomStream(3, 'sampler'));
    const drafter = createModelDrafter({
      model: loadTransformer(draft, { kernels, ...SIZE }),
      sampler: () => createSampler(sampling(temperature), stream.coming()),
      vocabularySize: 260,
      stops: new Set(),
      clock: () => performance.now() / 1000,
    });
    const speculation = createSpeculation({ model, drafter, lookup: createPromptLookup(4), tokens: 4 });
    const sampler = createSampler(sampling(temperature), stream);
    const text = { model, speculation, tokenizer: TOKENIZER, prompt: PROMPT, tokens: TOKENS, sampler };
    const { tokens } = await generate(text);
    return { tokens, figures: speculation.figures, log, passes };
  } finally {
    kernels.close();
    await head.close();
    for (const { worker } of workers) await worker.close();
  }
}

test('a ring that verifies drafts writes the text of one machine without', async () => {
  for (const temperature of [0, 0.8])
    for (const draft of [path, other]) {
      const { tokens, figures, passes } = await inRing(draft, temperature);
      assert.equal(tokens, await alone(temperature));
      if (draft !== path) continue;
      const own = figures.sources.draft;
      assert.ok(own !== undefined && own.accepted === own.drafted, 'the model guesses its own text');
      // In a greedy text it often isn't sure, with random weights.
      assert.ok(passes.length < (temperature === 0 ? 40 : 25), `${passes.length} passes`);
    }
});

test('when a worker is lost the text goes on with the others, token for token', async () => {
  const { tokens, log, passes } = await inRing(path, 0.8, true);
  assert.equal(tokens, await alone(0.8));
  assert.ok(log.includes('continues with head, a'), log.join('\n'));
  assert.ok(passes.length < 25, `${passes.length} passes`);
});

test.run();
