import { InputError } from '../../engine/input/input-error.ts';
import type { FuzzTarget } from './target.ts';

/** A target for tests of campaigns: its inputs name numbers, and four of a hundred are faults, one of every kind. */
export function open(): FuzzTarget {
  const kept: Buffer[] = [];
  return {
    input: (random) => new TextEncoder().encode(`input ${random.integer(0, 99)}`),
    read(input) {
      const text = new TextDecoder().decode(input);
      if (text.includes('input 3')) throw new InputError('input', 'is refused');
      if (text.endsWith('55')) throw new TypeError('a defect');
      if (text.endsWith('66')) process.kill(process.pid, 'SIGSEGV');
      if (text.endsWith('77')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      if (text.endsWith('88')) for (;;) kept.push(Buffer.alloc(2 ** 29, 1));
      return 'read';
    },
  };
}
