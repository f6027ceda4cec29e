import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { medianParts, type PartsProfile, parseParts, partsText } from '../../engine/profile/parts-profile.ts';
import { TOY_CHIP_MODEL } from '../support/toy-chip.ts';

const PROFILE: PartsProfile = {
  model: TOY_CHIP_MODEL.name,
  rates: { flops: 1e9, bandwidth: 2e9, attention: 3e9, promptAttention: 6e9, activations: 4e9, dispatch: 0 },
  paces: { prefill: { gpu: 0.7, npu: 0.6 }, decode: { gpu: 1, npu: 0.9 } },
  parts: [
    { processor: 'gpu', rows: 8, columns: 4, tokens: 1, seconds: 0.5 },
    { processor: 'npu', rows: 16, columns: 4, tokens: 32, seconds: 0.25 },
  ],
};

const read = (text: string): PartsProfile => parseParts(text, 'parts.json', TOY_CHIP_MODEL);

test('a profile of parts is read as it was written', () => {
  assert.equal(read(partsText(PROFILE)), PROFILE);
});

test('another model, a pace above 1, no time and an unknown key are refused with their place', () => {
  const text = partsText(PROFILE);
  assert.throws(() => read(text.replace(PROFILE.model, 'Other')), /parts.json: model: is "Other"/);
  assert.throws(() => read(text.replace('0.7', '1.7')), /paces.prefill.gpu: is 1.7; a share of speed/);
  assert.throws(() => read(text.replace('0.25', '0')), /parts\[1\].seconds: is 0; a part takes time/);
  assert.throws(() => read(text.replace('"flops"', '"flop"')), /rates/);
});

test('of several profiles the medians are taken, each quantity by itself', () => {
  const scaled = (factor: number, flops: number): PartsProfile => ({
    ...PROFILE,
    rates: { ...PROFILE.rates, flops },
    parts: PROFILE.parts.map((part) => ({ ...part, seconds: factor * part.seconds })),
  });
  const median = medianParts([scaled(3, 1e9), scaled(1, 5e9), scaled(2, 3e9)]);
  assert.equal(median, scaled(2, 3e9));
});

test.run();
