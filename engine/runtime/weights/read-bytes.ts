import { readFileSync } from 'node:fs';

/**
 * Bytes that this process has made the disk read so far, whichever thread did and for whatever: read_bytes of Linux's
 * /proc/self/io, which equals the block layer's count. Undefined on systems without it.
 */
export function processReadBytes(): number | undefined {
  try {
    const found = /^read_bytes: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1];
    return found === undefined ? undefined : Number(found);
  } catch {
    return undefined;
  }
}
