import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { READ_ALIGNMENT } from '../../../engine/kernels/file-pages.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import { pagesOf } from '../../../engine/runtime/weights/mapped-weights.ts';
import { testNative } from '../native-sets.ts';

const [ROWS, COLUMNS] = [256, 1024];
const BYTES = 4 * ROWS * COLUMNS;
let [folder, path] = ['', ''];
test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
  path = join(folder, 'weights');
  writeFileSync(path, new Uint8Array(new Float32Array(ROWS * COLUMNS).fill(1).buffer));
});
test.after.each(() => rmSync(folder, { recursive: true }));

const shrunkTo = (bytes: number): string =>
  `${path}: has shrunk from ${BYTES} to ${bytes} bytes while it was in use; restore it and start again`;

/** A matrix of ones in a mapped file, and its product with a vector of ones. */
function open() {
  const kernels = openKernels({ implementation: 'native', threads: 2 });
  const source = kernels.mapFile(path);
  const matrix = kernels.matrix({ source, type: 'F32', rows: ROWS, columns: COLUMNS });
  const x = kernels.vector(new Float32Array(COLUMNS).fill(1));
  const y = kernels.vector(ROWS);
  const multiply = () => kernels.run([{ kind: 'multiply', matrix, x, y }]);
  return { kernels, source, multiply, y };
}

function messageOf(run: () => unknown): string {
  try {
    run();
    return 'nothing was thrown';
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
}

// The last: within a page, the operating system fills the rest with zeros and reports nothing.
for (const bytes of [0, BYTES / 2 - 100, BYTES - 100])
  testNative(
    `a product with a file that has shrunk to ${bytes} bytes is an input error, and so is each later one`,
    () => {
      const { kernels, multiply, y } = open();
      multiply();
      assert.is(y.values.at(-1), COLUMNS);
      truncateSync(path, bytes);
      assert.is(messageOf(multiply), `InputError: ${shrunkTo(bytes)}`);
      assert.is(messageOf(multiply), `InputError: ${shrunkTo(bytes)}`);
      kernels.close();
    },
  );

testNative('other files stay usable', () => {
  const other = open();
  const { kernels, multiply } = open();
  truncateSync(path, 0);
  assert.match(messageOf(multiply), /has shrunk/);
  kernels.close();
  writeFileSync(path, new Uint8Array(new Float32Array(ROWS * COLUMNS).fill(1).buffer));
  other.multiply();
  assert.is(other.y.values.at(-1), COLUMNS);
  other.kernels.close();
});

testNative('reads past the mapping, and pages that are populated, say that the file has shrunk', () => {
  const { kernels, source } = open();
  const pages = pagesOf(kernels, source);
  const buffer = pages.buffer(BYTES);
  truncateSync(path, READ_ALIGNMENT);
  const whole = { from: 0, to: BYTES };
  assert.is(
    messageOf(() => pages.read(whole, [{ buffer, offset: 0, bytes: whole.to - whole.from }]).wait()),
    `InputError: ${shrunkTo(READ_ALIGNMENT)}`,
  );
  assert.is(
    messageOf(() => pages.start('populate', whole).wait()),
    `InputError: ${shrunkTo(READ_ALIGNMENT)}`,
  );
  kernels.close();
});

test.run();
