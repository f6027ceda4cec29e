import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { TINY_SHAPE } from '../../engine/gguf/make/made-model.ts';
import { METADATA_RULES } from '../../engine/gguf/metadata-rules.ts';
import type { MetadataValue } from '../../engine/gguf/metadata-value.ts';
import { transformerSettings } from '../../engine/gguf/transformer-settings.ts';
import { ggufOf } from '../support/gguf-of.ts';

const base: [string, MetadataValue][] = [
  ['llama.context_length', { type: 'uint32', value: 64 }],
  ['llama.attention.layer_norm_rms_epsilon', { type: 'float32', value: 1e-5 }],
];
const shape = { ...TINY_SHAPE, architecture: 'llama' as const };
const settingsWith = (key: string, value: MetadataValue) =>
  transformerSettings(ggufOf({}, [...base, [`llama.${key}`, value]]), shape);

const number = (value: number): MetadataValue => ({ type: 'float32', value });

test('what changes results and is not computed here is refused with its key', () => {
  const cases: readonly (readonly [key: string, value: MetadataValue, message: RegExp])[] = [
    [
      'rope.scaling.yarn_log_multiplier',
      number(1.25),
      /^m\.gguf: metadata llama\.rope\.scaling\.yarn_log_multiplier: is 1\.25, which scales rotated queries and keys; only 0 is/,
    ],
    [
      'attention.causal',
      { type: 'bool', value: false },
      /llama\.attention\.causal: is false, which lets tokens see those that follow; only true is supported$/,
    ],
    ['logit_scale', number(0.5), /only 0 or 1 is supported$/],
  ];
  for (const [key, value, message] of cases)
    assert.throws(
      () => settingsWith(key, value),
      (error: Error) => message.test(error.message),
    );
});

test('values that change nothing are accepted, each key of the table', () => {
  for (const [key, rule] of Object.entries(METADATA_RULES))
    for (const value of rule.kind === 'neutral' ? rule.values : []) {
      const given: MetadataValue =
        typeof value === 'boolean'
          ? { type: 'bool', value }
          : typeof value === 'number'
            ? number(value)
            : { type: 'string', value };
      assert.is(settingsWith(key, given).contextLength, 64);
    }
  settingsWith('attention.sliding_window', number(4096));
});

test.run();
