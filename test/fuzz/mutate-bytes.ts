import type { RandomStream } from '../../engine/input/random-stream.ts';

/** Numbers that readers often mishandle: ends of ranges, small lengths, lengths that are just too large. */
export const NASTY = [
  ...[0n, 1n, 2n, 255n, 65_535n, 65_536n, 2n ** 31n, 2n ** 32n - 1n],
  ...[2n ** 53n, 2n ** 63n, 2n ** 64n - 1n],
];

/** Longest run of bytes that is removed, repeated or taken from another input. */
const LONGEST_RUN = 40;

/**
 * One mutation that needs no knowledge of the format: a flipped bit, a byte, a nasty number of 4 or 8 bytes, a removed
 * or repeated run, a cut, or a run from `other`.
 */
export function mutateBytes(bytes: Uint8Array, other: Uint8Array, random: RandomStream): Uint8Array {
  if (bytes.length === 0) return other;
  const at = random.integer(0, bytes.length - 1);
  const length = random.integer(1, LONGEST_RUN);
  switch (random.integer(0, 8)) {
    case 0:
    case 1:
      return withByte(bytes, at, (bytes[at] as number) ^ (1 << random.integer(0, 7)));
    case 2:
      return withByte(bytes, at, random.integer(0, 255));
    case 3:
    case 4:
      return withNumber(bytes, at, random.pick(NASTY), random.pick([4, 8]));
    case 5:
      return concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
    case 6:
      return concat([bytes.subarray(0, at + length), bytes.subarray(at)]);
    case 7: {
      const from = random.integer(0, Math.max(0, other.length - 1));
      return concat([bytes.subarray(0, at), other.subarray(from, from + length), bytes.subarray(at + length)]);
    }
    default:
      return random.integer(0, 3) === 0 ? bytes.slice(0, at) : withByte(bytes, at, 0);
  }
}

/** The bytes with a little-endian number of `count` bytes at `at`, as far as they reach. */
export function withNumber(bytes: Uint8Array, at: number, value: bigint, count: number): Uint8Array {
  const mutated = bytes.slice();
  for (let byte = 0; byte < count && at + byte < bytes.length; byte++)
    mutated[at + byte] = Number((value >> BigInt(8 * byte)) & 255n);
  return mutated;
}

function withByte(bytes: Uint8Array, at: number, value: number): Uint8Array {
  const mutated = bytes.slice();
  mutated[at] = value;
  return mutated;
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
