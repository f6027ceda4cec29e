import type { ByteRange } from '../../engine/kernels/file-pages.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { pagesOf } from '../../engine/runtime/weights/mapped-weights.ts';

/** The process that scans: maps the file, and uses a range at every message. Its memory is limited from outside. */

const [file = ''] = process.argv.slice(2);
const kernels = openKernels({ implementation: 'native', threads: 1 });
const pages = pagesOf(kernels, kernels.mapFile(file));

process.on('message', (range: ByteRange) => {
  pages.start('populate', range).wait();
  process.send?.('used');
});
process.on('disconnect', () => {
  pages.close();
  kernels.close();
  process.exit();
});
process.send?.('ready');
