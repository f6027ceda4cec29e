import { closeSync, openSync, readSync } from 'node:fs';

const NEWLINE = 10;
const BLOCK_BYTES = 2 ** 16;

export interface Line {
  readonly text: string;
  /** From 1. */
  readonly number: number;
  /** Byte after its end. */
  readonly end: number;
}

/** The lines of a file that end in a newline, one by one; text after the last newline is incomplete and omitted. */
export function* completeLines(path: string): Generator<Line> {
  const file = openSync(path, 'r');
  try {
    const block = Buffer.alloc(BLOCK_BYTES);
    let begun = Buffer.alloc(0);
    let [number, end] = [0, 0];
    for (;;) {
      const count = readSync(file, block);
      if (count === 0) return;
      let data = Buffer.concat([begun, block.subarray(0, count)]);
      for (let at = data.indexOf(NEWLINE); at >= 0; at = data.indexOf(NEWLINE)) {
        number += 1;
        end += at + 1;
        yield { text: data.toString('utf8', 0, at), number, end };
        data = data.subarray(at + 1);
      }
      begun = data;
    }
  } finally {
    closeSync(file);
  }
}
