import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseMetadataPairs } from '../../engine/gguf/metadata-pairs.ts';

const read = (text: string) => [...parseMetadataPairs(text, 'here')];

test('numbers, flags, texts and lists are told apart by how they are written', () => {
  assert.equal(read(' ssm.state_size=128  rope.scaling.type=yarn '), [
    ['ssm.state_size', { type: 'uint32', value: 128 }],
    ['rope.scaling.type', { type: 'string', value: 'yarn' }],
  ]);
  assert.equal(read('factor=0.1 norm=true'), [
    ['factor', { type: 'float32', value: Math.fround(0.1) }],
    ['norm', { type: 'bool', value: true }],
  ]);
  assert.equal(read('kv=0*2,8 local=true*2,false one=7*1'), [
    ['kv', { type: 'array', value: { of: 'uint32', values: [0, 0, 8] } }],
    ['local', { type: 'array', value: { of: 'bool', values: [1, 1, 0] } }],
    ['one', { type: 'array', value: { of: 'uint32', values: [7] } }],
  ]);
  assert.equal(read(''), []);
});

for (const [text, problem] of [
  ['a', '"a" isn’t a pair; write key=value, with spaces between pairs'],
  ['a=1 a=2', '"a" occurs twice; give it one value'],
  ['a=1,*2', '"*2" isn’t a value of a list; write 8, or 0*3 for three zeros'],
  ['a=1,true', 'has values of unlike types'],
  ['a=1*999999999', 'has more than 1000 values; no model has so many layers'],
] as const)
  test(`${text} is refused`, () => {
    assert.throws(
      () => read(text),
      (error: Error) => error.message.startsWith('here') && error.message.endsWith(problem),
    );
  });

test.run();
