import { describeGguf } from '../../engine/gguf/describe-gguf.ts';
import { GgufError } from '../../engine/gguf/gguf-error.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import { type Header, mutate, shortHeader } from './mutate-gguf.ts';

export interface FuzzResult {
  /** Headers by outcome: refused by the reader, accepted but not a model, a model. */
  readonly refused: number;
  readonly noModel: number;
  readonly models: number;
  /** Seconds and bytes of the worst header. */
  readonly slowest: number;
  readonly mostRead: number;
}

/**
 * Reads `count` mutated headers; the rest of each file is zeros.
 * @throws Error naming the seed and the number of the header for any error but GgufError (reader) and InputError
 * (model)
 */
export function fuzzGguf(seed: number, count: number, onHeader: () => void = () => {}): FuzzResult {
  const header = shortHeader();
  let [refused, noModel, models, slowest, mostRead] = [0, 0, 0, 0, 0];
  for (let number = 0; number < count; number++) {
    const mutated = mutate(header, randomStream(seed, `header ${number}`));
    const start = performance.now();
    const { outcome, bytesRead } = readOne(mutated, `seed ${seed}, header ${number}`);
    slowest = Math.max(slowest, (performance.now() - start) / 1000);
    mostRead = Math.max(mostRead, bytesRead);
    if (outcome === 'refused') refused++;
    else if (outcome === 'no model') noModel++;
    else models++;
    onHeader();
  }
  return { refused, noModel, models, slowest, mostRead };
}

function readOne({ bytes, fileBytes }: Header, name: string) {
  let bytesRead = 0;
  const read = (offset: number, length: number): Uint8Array => {
    if (offset < 0 || length < 0 || offset + length > fileBytes)
      throw new Error(`${length} bytes at ${offset} were asked for, beyond the end of the file at ${fileBytes}`);
    bytesRead += length;
    const out = new Uint8Array(length);
    out.set(bytes.subarray(offset, offset + length));
    return out;
  };
  const outcome = (() => {
    try {
      const gguf = readGguf({ name, size: fileBytes, read });
      try {
        describeGguf(gguf);
        return 'model';
      } catch (error) {
        if (error instanceof InputError && !error.message.includes('\n')) return 'no model';
        throw error;
      }
    } catch (error) {
      if (error instanceof GgufError && !error.message.includes('\n')) return 'refused';
      throw new Error(`${name}: ${String(error)}`, { cause: error });
    }
  })();
  return { outcome, bytesRead };
}
