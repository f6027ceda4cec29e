import { encodeHeader, tensorBytes } from '../../engine/gguf/encode-header.ts';
import { madeModel, TINY_SHAPE } from '../../engine/gguf/make/made-model.ts';
import type { Metadata } from '../../engine/gguf/metadata-value.ts';
import type { RandomStream } from '../../engine/input/random-stream.ts';

/** A header and the size of its file. */
export interface Header {
  readonly bytes: Uint8Array;
  readonly fileBytes: number;
}

/** Numbers that readers often mishandle: ends of ranges, small lengths, lengths that are just too large. */
const NASTY = [0n, 1n, 2n, 255n, 65_535n, 65_536n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n];

/** A short but complete header: most of its bytes are lengths, types and offsets rather than vocabulary. */
export function shortHeader(): Header {
  const { metadata, tensors } = madeModel({ ...TINY_SHAPE, vocabularySize: 258 }, 'Q4_K_M');
  const words = { of: 'string', values: ['a', 'b', '<s>'] } as const;
  const short: Metadata = new Map([
    ...[...metadata].filter(([key]) => !key.startsWith('tokenizer.')),
    ['tokenizer.ggml.model', { type: 'string', value: 'gpt2' }],
    ['tokenizer.ggml.tokens', { type: 'array', value: words }],
    ['tokenizer.ggml.bos_token_id', { type: 'uint32', value: 2 }],
    ['test.big', { type: 'uint64', value: 7n }],
    ['test.flags', { type: 'array', value: { of: 'bool', values: [1, 0] } }],
    ['test.bigs', { type: 'array', value: { of: 'int64', values: [-1n] } }],
  ]);
  const bytes = encodeHeader(short, tensors);
  return { bytes, fileBytes: tensors.reduce((sum, tensor) => sum + tensorBytes(tensor) + 31, bytes.length) };
}

/** One to four mutations: bits, bytes, nasty numbers, cuts, repeated and removed runs, another size of the file. */
export function mutate({ bytes, fileBytes }: Header, random: RandomStream): Header {
  let mutated: Uint8Array = bytes.slice();
  let size = fileBytes;
  for (let times = random.integer(1, 4); times > 0; times--) {
    const at = random.integer(0, mutated.length - 1);
    const length = random.integer(1, 40);
    switch (random.integer(0, 6)) {
      case 0:
        mutated[at] = (mutated[at] as number) ^ (1 << random.integer(0, 7));
        break;
      case 1:
        mutated[at] = random.integer(0, 255);
        break;
      case 2:
      case 3:
        overwrite(mutated, at, random.pick(NASTY), random.pick([4, 8]));
        break;
      case 4:
        mutated = concat(mutated.subarray(0, at), mutated.subarray(at + length));
        break;
      case 5:
        mutated = concat(mutated.subarray(0, at + length), mutated.subarray(at));
        break;
      default:
        size = random.pick([0, at, mutated.length, 2 * fileBytes, 40e9, Number.MAX_SAFE_INTEGER]);
    }
    if (mutated.length === 0) break;
  }
  return { bytes: mutated, fileBytes: size };
}

function overwrite(bytes: Uint8Array, at: number, value: bigint, count: number): void {
  for (let byte = 0; byte < count && at + byte < bytes.length; byte++)
    bytes[at + byte] = Number((value >> BigInt(8 * byte)) & 255n);
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}
