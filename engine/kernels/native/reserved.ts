import { InputError } from '../../input/input-error.ts';
import { formatBytes } from '../../terminal/format.ts';

/** What native/memory/buffer.cpp says. */
const OUT_OF_MEMORY = /^out of memory: (\d+) bytes$/;

/**
 * Makes something that takes memory.
 * @param what it is, for the message
 * @throws InputError where the system grants no more
 */
export function reserved<Result>(what: string, make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    const bytes = OUT_OF_MEMORY.exec((error as Error).message)?.[1];
    if (bytes === undefined) throw error;
    const needed = formatBytes(Number(bytes));
    throw new InputError('memory', `${what} needs ${needed} in one piece, which the system doesn't grant`);
  }
}
