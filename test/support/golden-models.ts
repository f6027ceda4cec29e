import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** The models of test/golden/models (test/golden/README.md). */
export const GOLDEN_MODELS = [
  'llama-F16',
  'llama-Q4_0',
  'llama-Q5_K',
  'llama-Q6_K',
  'llama-Q8_0',
  'qwen2-F16',
  'qwen2-Q4_K_M',
] as const;

export type GoldenModel = (typeof GOLDEN_MODELS)[number];

/** Results of double precision and of llama.cpp for a model. */
export interface Golden {
  readonly n_vocab: number;
  readonly prompt_short: readonly number[];
  readonly prompt_long: readonly number[];
  /** A forward pass in double precision on the dequantized weights. */
  readonly ref64: GoldenLogits;
  /** NMSE of llama.cpp's own logits, by prompt and configuration. */
  readonly nmse: Readonly<Record<`${'short' | 'long'}.${'strict' | 'default'}_vs_ref64`, number>>;
}

export interface GoldenLogits {
  /** [16][vocabulary]: every position. */
  readonly short_logits: readonly Float32Array[];
  /** [1][vocabulary]: the last position. */
  readonly long_logits: readonly Float32Array[];
  /** The most probable continuation, and the lead of its logit over the second best at each step. */
  readonly short_greedy: readonly number[];
  readonly short_greedy_gap: readonly number[];
  readonly long_greedy: readonly number[];
  readonly long_greedy_gap: readonly number[];
}

const FOLDER = join(import.meta.dirname, '../golden/models');
const unpacked = new Map<GoldenModel, string>();
let folder: string | undefined;

/** The bytes of a model's GGUF file. */
export function goldenBytes(name: GoldenModel): Buffer {
  return gunzipSync(readFileSync(join(FOLDER, `${name}.gguf.gz`)));
}

/** The path of a model's GGUF file, unpacked into a temporary folder that is removed with the process. */
export function goldenModel(name: GoldenModel): string {
  const known = unpacked.get(name);
  if (known !== undefined) return known;
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'hearth-golden-'));
    process.on('exit', () => rmSync(made, { recursive: true, force: true }));
    folder = made;
  }
  const path = join(folder, `${name}.gguf`);
  writeFileSync(path, goldenBytes(name));
  unpacked.set(name, path);
  return path;
}

/** Reads a model's references; logits are stored as base64 of little-endian float32. */
export function readGolden(name: GoldenModel): Golden {
  return JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8'), (key, value) =>
    key.endsWith('_logits') ? (value as string[]).map((row) => decode(Buffer.from(row, 'base64'))) : value,
  ) as Golden;
}

function decode(bytes: Buffer): Float32Array {
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
}
