import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { describeGguf } from '../../engine/gguf/describe-gguf.ts';
import { partAt, partPaths, placeParts } from '../../engine/gguf/file-parts.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { madeFile } from '../runtime/made-file.ts';
import { writeParts } from '../support/write-parts.ts';

let folder = '';
let whole = '';
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-parts-'));
  whole = await madeFile({ folder, name: 'whole', mix: 'Q8_0' });
});
test.after(() => rmSync(folder, { recursive: true }));

/** The message of the InputError with which opening the file ends. */
function refusal(path: string): string {
  try {
    withFile(path, readGguf);
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
  return 'nothing was thrown';
}

test('the parts of a model are named by number and count', () => {
  assert.equal(partPaths('a/m-00001-of-00002.gguf'), ['a/m-00001-of-00002.gguf', 'a/m-00002-of-00002.gguf']);
  for (const path of ['m.gguf', 'm-00001-of-00001.gguf', 'm-1-of-2.gguf']) assert.equal(partPaths(path), [path]);
});

test('parts begin at multiples of 64 KiB, in order, and every byte of each is found in it', () => {
  assert.equal(
    placeParts([10, 65_536, 70_000, 1]).map(({ from }) => from),
    [0, 65_536, 131_072, 262_144],
  );
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 300_000 }), { minLength: 1, maxLength: 6 }), (sizes) => {
      const parts = placeParts(sizes);
      for (const part of parts) {
        assert.is(partAt(parts, part.from), part);
        assert.is(partAt(parts, part.from + part.size - 1), part);
      }
    }),
    { seed: 1, numRuns: 100 },
  );
});

for (const [count, emptyFirst] of [
  [1, false],
  [3, false],
  [3, true],
] as const) {
  test(`${count} parts${emptyFirst ? ', the first without tensors,' : ''} are the model that was split`, async () => {
    const [first = ''] = await writeParts(whole, { folder, name: `same${count}${emptyFirst}`, count, emptyFirst });
    const expected = withFile(whole, (source) => ({ gguf: readGguf(source), source }));
    const found = withFile(first, readGguf);
    if (count > 1) {
      assert.equal(found.metadata, expected.gguf.metadata);
      const [own, parts] = [describeGguf(expected.gguf), describeGguf(found)];
      assert.equal({ ...parts, file: '', fileBytes: 0 }, { ...own, file: '', fileBytes: 0 });
    }
    assert.equal(
      found.tensors.map(({ name }) => name),
      expected.gguf.tensors.map(({ name }) => name),
    );
    for (const [index, tensor] of found.tensors.entries()) {
      const own = expected.gguf.tensors[index] as typeof tensor;
      const bytes = withFile(first, (source) => source.read(tensor.offset, tensor.bytes));
      assert.equal(
        bytes,
        withFile(whole, (source) => source.read(own.offset, own.bytes)),
        tensor.name,
      );
    }
  });
}

test('another part than the first, a missing one and a renamed one are refused in a line', async () => {
  const [first = '', second = '', third = ''] = await writeParts(whole, { folder, name: 'lacking', count: 3 });
  assert.is(refusal(second), `${second}: is part 2 of 3 of a model; give the first: ${first}`);
  renameSync(third, join(folder, 'third.gguf'));
  assert.is(refusal(first), `${third}: there is no such file; it is part 3 of 3, and all parts must be in one folder`);
  assert.is(
    refusal(join(folder, 'third.gguf')),
    `${join(folder, 'third.gguf')}: is part 3 of 3 of a model; name the parts NAME-00001-of-0000N.gguf and give the first`,
  );
  renameSync(second, third);
  renameSync(join(folder, 'third.gguf'), second);
  assert.is(refusal(first), `${second}: has split.no 2 and split.count 3; by its name it is part 1 (from 0) of 3`);
});

test('parts of different models are refused in a line', async () => {
  const [first = ''] = await writeParts(whole, {
    folder,
    name: 'other',
    count: 2,
    metadata: () => [['split.tensors.count', { type: 'int32', value: 7 }]],
  });
  const count = withFile(whole, readGguf).tensors.length;
  assert.is(
    refusal(first),
    `${first}: its parts have ${count} tensors; split.tensors.count is 7; they are not of one model, or of different versions`,
  );
});

test.run();
