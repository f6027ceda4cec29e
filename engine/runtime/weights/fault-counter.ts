import type { FilePages } from '../../kernels/file-pages.ts';
import { processReadBytes } from './read-bytes.ts';

/**
 * Counts bytes that computations made the disk read, by page faults: what the process reads without its helper thread.
 * @returns bytes since the last call, or since the beginning; 0 on systems that don't count
 */
export function createFaultCounter(pages: FilePages): () => number {
  // The helper's count is taken last: what it reads in between must not look like a fault.
  const count = (): number => {
    const all = processReadBytes();
    const helper = pages.readBytes();
    return all === undefined || helper === undefined ? 0 : all - helper;
  };
  let counted = count();
  return () => {
    const now = count();
    const bytes = Math.max(0, now - counted);
    counted = Math.max(counted, now);
    return bytes;
  };
}
