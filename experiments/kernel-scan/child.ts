import type { ByteRange } from '../../engine/kernels/file-pages.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { pagesOf } from '../../engine/runtime/weights/mapped-weights.ts';

/** The process that scans: maps the file, and uses a range at every message. Its memory is limited from outside. */

/** Weights in a row of the product that reads a range; any number that divides an extent. */
const COLUMNS = 1024;

const [path = '', by] = process.argv.slice(2);
const kernels = openKernels({ implementation: 'native', threads: 1 });
const file = kernels.mapFile(path);
const pages = pagesOf(kernels, file);

/** A product with the range as its matrix: page faults read it, as they do in a ring without prefetching. */
function multiply({ from, to }: ByteRange): void {
  const rows = (to - from) / (COLUMNS * Float32Array.BYTES_PER_ELEMENT);
  const matrix = kernels.matrix({ source: file, offset: from, type: 'F32', rows, columns: COLUMNS });
  kernels.run([{ kind: 'multiply', matrix, x: kernels.vector(COLUMNS), y: kernels.vector(rows) }]);
}

process.on('message', (range: ByteRange) => {
  if (by === 'populate') pages.start('populate', range).wait();
  else {
    if (by === 'willneed') pages.start('willneed', range).wait();
    multiply(range);
  }
  process.send?.('used');
});
process.on('disconnect', () => {
  pages.close();
  kernels.close();
  process.exit();
});
process.send?.('ready');
