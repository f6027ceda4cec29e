import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { QUANTIZATION_NAMES, QUANTIZATIONS } from '../../engine/model/quantization.ts';
import { FEW_PROMPT_TOKENS, PROMPT_TOKENS, SEVERAL_TEXTS } from '../../engine/profile/probes/products.ts';
import { SMALL_LAYERS } from '../../engine/profile/probes/small-pass.ts';
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

test('rates of passes are what measured passes of texts imply', () => {
  const sample = (median: number) => ({ median, spread: 0, repeats: 1 });
  const [further, constant, token, pack, text] = [2e-12, 5e-11, 1e-12, 4, 3e-6];
  const prompts = (tokens: number) => constant + token * pack * Math.ceil(tokens / pack);
  const of = (seconds: (one: number) => number) =>
    new Map([...MEASURES.vectorProducts].map(([type, { median }]) => [type, sample(seconds(median))]));
  const { passes } = processorFacts({
    ...MEASURES,
    matrixProducts: of(() => prompts(PROMPT_TOKENS) / PROMPT_TOKENS),
    passes: {
      generated: new Map([8, 16].map((tokens) => [tokens, of((one) => one + (tokens - 1) * further)])),
      onePrompt: of(() => prompts(1)),
      fewPrompt: of(() => prompts(FEW_PROMPT_TOKENS)),
      oneText: sample(1e-3),
      severalTexts: sample(1e-3 + (SEVERAL_TEXTS - 1) * SMALL_LAYERS * text),
    },
  });
  for (const type of QUANTIZATION_NAMES) {
    for (const tokens of [8, 16]) near(passes?.generated.get(tokens)?.get(type)?.value ?? 0, 2 / further);
    near(passes?.packed.get(type)?.value ?? 0, 2 / token);
    near(passes?.unpacking.get(type)?.value ?? 0, 2 / constant);
  }
  assert.is(passes?.packTokens.value, pack);
  near(passes?.text.value ?? 0, text);
  near(passes?.dispatch.value ?? 0, 1e-3 / SMALL_LAYERS);
});

test.run();
