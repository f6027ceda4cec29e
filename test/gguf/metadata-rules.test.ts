import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { FAMILIES } from '../../engine/gguf/architectures/families.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { TINY_SHAPE } from '../../engine/gguf/make/made-model.ts';
import { METADATA_RULES, metadataRules } from '../../engine/gguf/metadata-rules.ts';
import type { MetadataValue } from '../../engine/gguf/metadata-value.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { transformerSettings } from '../../engine/gguf/transformer-settings.ts';
import { ggufOf } from '../support/gguf-of.ts';
import { goldenArchitectureNames, goldenArchitecturePath } from '../support/golden-architectures.ts';

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

const found = goldenArchitectureNames();

test('each key of the architecture in every golden model is in the table of rules', () => {
  assert.ok(found.length > 20);
  for (const name of found) {
    const { metadata, fields } = withFile(goldenArchitecturePath(name), readGguf);
    const architecture = fields.text('general.architecture');
    const rules = metadataRules(architecture);
    const unknown = [...metadata.keys()].filter(
      (key) => key.startsWith(`${architecture}.`) && rules[key.slice(architecture.length + 1)] === undefined,
    );
    assert.equal(unknown, [], name);
  }
});

test('what is applied is read in the file that the table names', () => {
  for (const architecture of Object.keys(FAMILIES))
    for (const [key, rule] of Object.entries(metadataRules(architecture))) {
      if (rule.kind !== 'applied') continue;
      // Keys with a suffix, or a name before it, are put together there.
      const part = (key.split('.').at(-1) as string).replace(/_(?:mla|fast|slow)$/, '').replace(/^expert_/, '');
      assert.ok(readFileSync(rule.by, 'utf8').includes(part), `${architecture}.${key}: ${rule.by}`);
    }
});

test('numbers that a family reads past are refused where they change results', () => {
  const other = (key: string, value: number) => () => settingsWith(key, { type: 'uint32', value });
  assert.throws(
    other('interleave_moe_layer_step', 2),
    /is 2, which puts dense layers between mixtures; only 0 or 1 is/,
  );
  assert.throws(other('expert_group_count', 4), /is 4, which chooses experts by groups; only 0 or 1 is supported$/);
  other('interleave_moe_layer_step', 1)();
});

test.run();
