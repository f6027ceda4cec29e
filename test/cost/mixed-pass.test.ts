import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { layerSeconds, outputSeconds, totalLayerSeconds } from '../../engine/cost/layer-seconds.ts';
import { type PassText, passLayerSeconds, passLoad, passOutputSeconds } from '../../engine/cost/mixed-pass.ts';
import type { FlopRates } from '../../engine/hardware/device.ts';
import { kvBytesPerToken } from '../../engine/model/kv-format.ts';
import { QUANTIZATION_NAMES } from '../../engine/model/quantization.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { near } from '../support/near.ts';
import { TOY_CPU, TOY_MODEL } from '../support/toy-cluster.ts';

const generated = (position: number): PassText => ({ tokens: 1, position, isGenerated: true, isLast: true });
const prompt = (tokens: number, isLast = false): PassText => ({ tokens, position: 0, isGenerated: false, isLast });
const all = (rate: number): FlopRates =>
  Object.fromEntries(QUANTIZATION_NAMES.map((type) => [type, rate])) as FlopRates;

test('what a pass has is summed by kind; a token attends to those before it and to itself', () => {
  assert.equal(passLoad([generated(9), generated(4), { ...prompt(3, true), position: 2 }]), {
    texts: 3,
    generated: 2,
    prompt: 3,
    generatedContext: 10 + 5,
    promptContext: 3 + 4 + 5,
    promptCache: 5,
    chosen: 3,
  });
});

test('a pass of one token takes what a token takes', () => {
  const workload = createWorkload({ context: 10 });
  const load = passLoad([generated(9)]);
  assert.equal(passLayerSeconds(TOY_MODEL, load, TOY_CPU), layerSeconds(TOY_MODEL, workload, TOY_CPU));
  assert.equal(passOutputSeconds(TOY_MODEL, load, TOY_CPU), outputSeconds(TOY_MODEL, workload, TOY_CPU));
});

test('measured rates: generated tokens and texts after the first, and prompts in packs', () => {
  // A layer has 3000 and 1000 weights, 8000 FLOPs a token (6000 at 3000/s, 2000 at 2000/s).
  const prompts = { packTokens: 4, unpacking: all(4000), packed: all(32_000) };
  const generatedRates = [{ tokens: 2, flops: all(16_000) }];
  const passes = { generated: generatedRates, start: 4, dispatch: 0.5, textStart: 0.25, text: 0.125 };
  const cpu = { ...TOY_CPU, prompts, passes };
  const of = (...texts: PassText[]) => passLayerSeconds(TOY_MODEL, passLoad(texts), cpu);
  const [one, two] = [of(generated(0)), of(generated(0), generated(0))];
  // Attention to itself is 4 × 10 heads × 5 wide = 200 FLOPs at 1000/s.
  near(two.compute - one.compute, 8000 / 16_000 + 0.2);
  near(two.overhead - one.overhead, 0.125);
  near(one.overhead - passLayerSeconds(TOY_MODEL, passLoad([generated(0)]), TOY_CPU).overhead, 0.5);
  const attended = (tokens: number): number => (0.2 * tokens * (tokens + 1)) / 2;
  near(of(prompt(1)).compute, 8000 / 4000 + (4 * 8000) / 32_000 + attended(1));
  near(of(prompt(5)).compute, 8000 / 4000 + (8 * 8000) / 32_000 + attended(5));
  // Weights are read once for each kind of tokens.
  const both = of(generated(0), prompt(5));
  near(both.compute, one.compute + of(prompt(5)).compute);
  assert.ok(totalLayerSeconds(both) > totalLayerSeconds(one));
  // The pass starts with the output layer, whether that runs or not.
  const output = (...texts: PassText[]) => passOutputSeconds(TOY_MODEL, passLoad(texts), cpu).overhead;
  near(output(prompt(1)), 4);
  near(output(generated(0), generated(0), generated(0)), 4 + 2 * 0.25);
});

test('attention to pages: generated tokens read and compute, prompts compute', () => {
  const attention = { memory: 400, cache: 800, quantized: { Q8_0: { memory: 100, cache: 400 } } };
  const flat = { generated: [{ tokens: 2, flops: all(8000) }], start: 0, dispatch: 0, textStart: 0, text: 0 };
  const paged = { memory: 100, flops: 500, promptFlops: 2000 };
  const [cpu, plain] = [{ ...flat, attention: paged }, flat].map((passes) => ({ ...TOY_CPU, attention, passes }));
  const of = (processor: typeof cpu, text: PassText, kvFormat?: 'Q8_0') => {
    assert.ok(processor);
    return passLayerSeconds(TOY_MODEL, { ...passLoad([text]), kvFormat }, processor);
  };
  const added = (text: PassText, longer: PassText, kvFormat?: 'Q8_0') => {
    const [short, long] = [of(cpu, text, kvFormat), of(cpu, longer, kvFormat)];
    return { compute: long.compute - short.compute, memory: long.memory - short.memory };
  };
  // 10 positions: 4 × 10 heads × 5 wide × 10 = 2000 FLOPs.
  const bytes = 10 * kvBytesPerToken(TOY_MODEL.mean);
  const generatedMore = added(generated(0), generated(10));
  near(generatedMore.compute, 2000 / 500);
  near(generatedMore.memory, bytes / 100);
  const promptMore = added(prompt(1), { ...prompt(1), position: 10 });
  near(promptMore.compute, 2000 / 2000);
  near(promptMore.memory, 0);
  // A position of another format takes as many times longer as the processor's rates say.
  const ratio = kvBytesPerToken(TOY_MODEL.mean, 'Q8_0') / 100 / (kvBytesPerToken(TOY_MODEL.mean) / 400);
  near(added(generated(0), generated(10), 'Q8_0').memory, (ratio * bytes) / 100);
  near(added(generated(0), generated(10), 'Q8_0').compute, (ratio * 2000) / 500);
  // Without such rates the processor's hold.
  near(of(plain, generated(10)).memory - of(plain, generated(0)).memory, bytes / 400);
});

test('between measured numbers of generated tokens products grow in a line, beyond the last at its rate', () => {
  const flat = { start: 0, dispatch: 0, textStart: 0, text: 0 };
  const generatedRates = [
    { tokens: 2, flops: all(8000) },
    { tokens: 6, flops: all(20_000) },
  ];
  const cpu = { ...TOY_CPU, passes: { ...flat, generated: generatedRates } };
  const products = (count: number): number => {
    const texts = Array.from({ length: count }, () => generated(0));
    // Attention to itself takes 0.2 s of each token.
    return passLayerSeconds(TOY_MODEL, passLoad(texts), cpu).compute - 0.2 * count;
  };
  // 8000 FLOPs a token: 1 s for the second, 5 × 0.4 s for all five after the first.
  const seconds = [1, 2, 3, 4, 6, 11].map((count) => products(count) - products(1));
  for (const [index, expected] of [0, 1, 1.25, 1.5, 2, 4].entries()) near(seconds[index] ?? Number.NaN, expected);
});

test.run();
