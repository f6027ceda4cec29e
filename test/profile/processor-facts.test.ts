import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { QUANTIZATION_NAMES, QUANTIZATIONS } from '../../engine/model/quantization.ts';
import { FEW_PROMPT_TOKENS, PROMPT_TOKENS } from '../../engine/profile/probes/products.ts';
import { DEPTHS, SEVERAL_TEXTS } from '../../engine/profile/probes/small-pass.ts';
import { processorFacts } from '../../engine/profile/processor-facts.ts';
import { relativelyNear as near } from '../support/near.ts';
import { MEASURES } from './measures.ts';

const EVERY_FORMAT = { minLength: QUANTIZATION_NAMES.length, maxLength: QUANTIZATION_NAMES.length };

const bytesPerWeight = (type: keyof typeof QUANTIZATIONS) => QUANTIZATIONS[type].bytes / QUANTIZATIONS[type].block;

test('the bandwidth is that of the format that is read fastest', () => {
  near(processorFacts(MEASURES).bandwidth.value, 10e9);
});

test('F16 takes 10 % longer than reading, so its FLOPs take a tenth of the reading: 2 / (0.1 · 2 B / 10 GB/s)', () => {
  near(processorFacts(MEASURES).flops.get('F16')?.value ?? 0, 100e9);
});

test('the latency of appending is its time less that of writing 4 KiB at the bandwidth', () => {
  near(processorFacts(MEASURES).kvCopyLatency.value, 3e-6 - 4096 / 10e9);
});

test('computing and reading add up to the measured time, for a token and for a prompt', () => {
  const slower = fc.array(fc.double({ min: 0.02, max: 5, noNaN: true }), EVERY_FORMAT);
  fc.assert(
    fc.property(slower, (factors) => {
      // F32 at 10 GB/s is read fastest; all others take longer by their factor.
      const seconds = (type: keyof typeof QUANTIZATIONS, index: number): number =>
        (bytesPerWeight(type) / 10e9) * (index === 0 ? 1 : 1 + (factors[index] as number));
      const measures = {
        ...MEASURES,
        vectorProducts: new Map(
          QUANTIZATION_NAMES.map((type, index) => [type, { median: seconds(type, index), spread: 0, repeats: 1 }]),
        ),
      };
      const { flops, promptFlops, bandwidth } = processorFacts(measures);
      for (const [index, type] of QUANTIZATION_NAMES.entries()) {
        const reading = bytesPerWeight(type) / bandwidth.value;
        if (index > 0) near(2 / (flops.get(type)?.value ?? 0) + reading, seconds(type, index));
        const first = 2 / (flops.get(type)?.value ?? 0) + reading;
        const others = (2 * (PROMPT_TOKENS - 1)) / (promptFlops.get(type)?.value ?? 0);
        near(first + others, PROMPT_TOKENS * (100 + index) * 1e-12);
      }
    }),
  );
});

test('the format that is read fastest has a finite FLOP rate', () => {
  const { flops, bandwidth } = processorFacts(MEASURES);
  near(2 / (flops.get('F32')?.value ?? 0), (0.01 * 4) / bandwidth.value);
  assert.ok(Number.isFinite(flops.get('F32')?.value));
});

const sample = (median: number) => ({ median, spread: 0, repeats: 1 });
const of = (seconds: (one: number) => number) =>
  new Map([...MEASURES.vectorProducts].map(([type, { median }]) => [type, sample(seconds(median))]));

test('products of prompts have a constant part, of which reading is taken out, and whole packs', () => {
  const [constant, token, pack] = [5e-9, 1e-12, 4];
  const seconds = (tokens: number) => constant + token * pack * Math.ceil(tokens / pack);
  const { prompts, bandwidth } = processorFacts({
    ...MEASURES,
    matrixProducts: of(() => seconds(PROMPT_TOKENS) / PROMPT_TOKENS),
    fewPrompt: of(() => seconds(FEW_PROMPT_TOKENS)),
    onePrompt: sample(seconds(1)),
  });
  for (const type of QUANTIZATION_NAMES) {
    near(prompts.packed.get(type)?.value ?? 0, 2 / token);
    near(2 / (prompts.unpacking.get(type)?.value ?? 0) + bytesPerWeight(type) / bandwidth.value, constant);
  }
  assert.is(prompts.packTokens.value, pack);
});

test('two depths of small layers tell what a pass takes from what a layer takes, less the crossing to a GPU', () => {
  const smallPass = { shallow: sample(1e-3 + DEPTHS.shallow * 2e-5), deep: sample(1e-3 + DEPTHS.deep * 2e-5) };
  const [cpu, gpu] = [0, 4e-4].map((crossing) => processorFacts({ ...MEASURES, smallPass }, crossing));
  near(cpu?.start.value ?? 0, 1e-3);
  near(gpu?.start.value ?? 0, 6e-4);
  for (const facts of [cpu, gpu]) near(facts?.dispatch.value ?? 0, 2e-5);
});

test('rates of passes are what measured passes of texts imply', () => {
  const [further, start, layer, textStart, text] = [2e-12, 3e-4, 3e-5, 1e-5, 3e-6];
  const pass = (texts: number, layers: number) =>
    sample(start + (texts - 1) * textStart + layers * (layer + (texts - 1) * text));
  const byDepth = (texts: number) => ({ shallow: pass(texts, DEPTHS.shallow), deep: pass(texts, DEPTHS.deep) });
  const { passes } = processorFacts({
    ...MEASURES,
    passes: {
      generated: new Map([8, 16].map((tokens) => [tokens, of((one) => one + (tokens - 1) * further)])),
      oneText: byDepth(1),
      severalTexts: byDepth(SEVERAL_TEXTS),
      // A byte of a cache in F16 is read in 70 ps, and each query that shares it computes one FLOP in 10 ps.
      attention: { few: sample(80e-12), many: sample(110e-12) },
    },
  });
  for (const type of QUANTIZATION_NAMES)
    for (const tokens of [8, 16]) near(passes?.generated.get(tokens)?.get(type)?.value ?? 0, 2 / further);
  near(passes?.start.value ?? 0, start);
  near(passes?.dispatch.value ?? 0, layer);
  near(passes?.textStart.value ?? 0, textStart);
  near(passes?.text.value ?? 0, text);
  near(passes?.attention.memory.value ?? 0, 1 / 70e-12);
  near(passes?.attention.flops.value ?? 0, 1 / 10e-12);
  // Four queries share a key in that probe.
  near(passes?.attention.promptFlops.value ?? 0, 4 * MEASURES.attentionFromCache.median);
});

test.run();
