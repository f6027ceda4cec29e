import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { bufferSource } from '../../../engine/gguf/byte-source.ts';
import { withFile } from '../../../engine/gguf/file-source.ts';
import { readGguf } from '../../../engine/gguf/read-gguf.ts';
import { keptWeightsDigests, otherWeights, weightsDigests } from '../../../engine/ring/device/weights-digests.ts';
import { madeFile } from '../../runtime/made-file.ts';

let [folder, path] = ['', ''];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-digests-'));
  path = await madeFile({ folder, name: 'tiny' });
});
test.after(() => rmSync(folder, { recursive: true }));

/** The kernel's clock of changes goes by ticks. */
const TICK = 150;

test('every byte of a layer’s weights is in its digest, and in no other', () => {
  const bytes = new Uint8Array(readFileSync(path));
  const source = bufferSource('model', bytes);
  const { tensors } = readGguf(source);
  const digests = weightsDigests(source, tensors);
  assert.equal([...digests.keys()].sort(), ['0', '1', 'outer']);
  fc.assert(
    fc.property(fc.constantFrom(...tensors), fc.nat(), fc.integer({ min: 1, max: 255 }), (tensor, place, change) => {
      const at = tensor.offset + (place % tensor.bytes);
      bytes[at] = (bytes[at] as number) ^ change;
      const others = weightsDigests(source, tensors);
      bytes[at] = (bytes[at] as number) ^ change;
      const layer = /^blk\.(\d)/.exec(tensor.name)?.[1];
      assert.is(otherWeights(digests, others), layer === undefined ? 'embedding and output' : `layer ${layer}`);
      assert.equal([...others].filter(([part, digest]) => digests.get(part) !== digest).length, 1);
    }),
    { numRuns: 20, seed: 3 },
  );
});

/** The digests of a file, and the bytes that were read for them. */
function digestsOf(file: string, log: string[] = []) {
  return withFile(file, (source) => {
    let read = 0;
    const { tensors } = readGguf(source);
    const counted = {
      ...source,
      read(offset: number, length: number) {
        read += length;
        return source.read(offset, length);
      },
    };
    const digests = keptWeightsDigests(file, { source: counted, tensors }, (line) => log.push(line));
    return { digests, read, weights: tensors.reduce((sum, { bytes }) => sum + bytes, 0) };
  });
}

test('a file is read once; another one, a copy and a change are read again', async () => {
  const file = join(folder, 'own.gguf');
  copyFileSync(path, file);
  await sleep(TICK);
  const first = digestsOf(file);
  assert.is(first.read, first.weights);
  assert.is(digestsOf(file).read, 0);
  assert.equal([...digestsOf(file).digests], [...first.digests]);

  const copy = join(folder, 'copy.gguf');
  copyFileSync(file, copy);
  copyFileSync(`${file}.digest`, `${copy}.digest`);
  assert.is(digestsOf(copy).read, first.weights);

  // A byte is changed, and the time of the change hidden.
  const { atime, mtime, size } = statSync(file);
  writeSync(openSync(file, 'r+'), Uint8Array.of(0x55), 0, 1, size - 1000);
  utimesSync(file, atime, mtime);
  await sleep(TICK);
  const changed = digestsOf(file);
  assert.is(changed.read, first.weights);
  assert.ok(otherWeights(first.digests, changed.digests) !== undefined);
  assert.is(digestsOf(file).read, 0);

  for (const text of ['', 'null', '{"of":1}', '{"of":"","digests":{"0":"x"}}']) {
    writeFileSync(`${file}.digest`, text);
    assert.is(digestsOf(file).read, first.weights, text);
  }
});

test('where digests can’t be kept they are computed each time, and it is said why', async () => {
  const file = join(folder, 'alone.gguf');
  copyFileSync(path, file);
  mkdirSync(`${file}.digest`);
  await sleep(TICK);
  const log: string[] = [];
  for (let time = 0; time < 2; time++) {
    const { read, weights } = digestsOf(file, log);
    assert.is(read, weights);
  }
  const line = `the digests of the weights are computed at every start: ${file}.digest can’t be written (EISDIR)`;
  assert.equal(log, [line, line]);
});

test.run();
