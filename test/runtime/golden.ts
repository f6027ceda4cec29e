import { readFileSync } from 'node:fs';

/** What others compute with a model (test/golden/README.md). */
export interface Golden {
  readonly n_vocab: number;
  readonly prompt_short: readonly number[];
  readonly prompt_long: readonly number[];
  readonly ref64: GoldenLogits;
  /** NMSE of llama.cpp's own logits, by prompt and configuration. */
  readonly nmse: Readonly<Record<`${'short' | 'long'}.${'strict' | 'default'}_vs_ref64`, number>>;
}

export interface GoldenLogits {
  /** [16][vocabulary]: of every position. */
  readonly short_logits: readonly Float32Array[];
  /** [1][vocabulary]: of the last position. */
  readonly long_logits: readonly Float32Array[];
  /** The most probable continuation, and by how much its logit leads the second best at each step. */
  readonly short_greedy: readonly number[];
  readonly short_greedy_gap: readonly number[];
  readonly long_greedy: readonly number[];
  readonly long_greedy_gap: readonly number[];
}

/** Rows of logits are arrays of numbers, or base64 of little-endian float32. */
export function readGolden(path: string): Golden {
  return JSON.parse(readFileSync(path, 'utf8'), (key, value) => {
    if (!key.endsWith('_logits')) return value;
    return (value as (string | number[])[]).map((row) =>
      typeof row === 'string' ? decode(Buffer.from(row, 'base64')) : Float32Array.from(row),
    );
  }) as Golden;
}

function decode(bytes: Buffer): Float32Array {
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
}
