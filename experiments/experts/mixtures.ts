import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { loadCatalogue } from '../../datasets/load.ts';
import { temporaryPath } from '../../engine/files/temporary-file.ts';
import { makeGguf } from '../../engine/gguf/make/make-gguf.ts';
import type { Shape } from '../../engine/model/architecture.ts';
import type { Progress } from '../../engine/terminal/progress.ts';

/**
 * Models whose layers are taken, with this many of them, the mix of their formats and the experts' own, and the memory of the
 * machine that they don't fit into.
 */
export const MIXTURES = {
  /** 1.3 GB of experts. */
  olmoe: { name: 'OLMoE-1B-7B', layers: 6, mix: 'Q4_K', experts: 'Q4_K', memory: 620 * 2 ** 20 },
  /** 2.7 GB of experts. */
  qwen3: { name: 'Qwen3-30B-A3B', layers: 8, mix: 'Q4_K', experts: 'Q4_K', memory: 1280 * 2 ** 20 },
  /** 2.5 GB of experts. */
  'gpt-oss': { name: 'gpt-oss-20b', layers: 6, mix: 'MXFP4_MOE', experts: 'MXFP4', memory: 1280 * 2 ** 20 },
} as const;
export type MixtureName = keyof typeof MIXTURES;
export const MIXTURE_NAMES = Object.keys(MIXTURES) as MixtureName[];

/** Blocks of weights that are made before they repeat: the numbers mean nothing. */
const DISTINCT = 8;

/** The first layers of a public model, with a vocabulary of bytes: what every token uses is small. */
export function mixtureShape(which: MixtureName): Shape {
  const { name, layers } = MIXTURES[which];
  const shape = loadCatalogue().find((model) => model.shape.name === name)?.shape as Shape;
  return {
    ...shape,
    name: `${name}, ${layers} layers`,
    layers,
    kinds: shape.kinds.slice(0, layers),
    vocabularySize: 1024,
  };
}

/** Makes a mixture with random weights unless the folder has it. @returns its file */
export async function madeMixture(
  folder: string,
  which: MixtureName,
  seed: number,
  progress: (steps: number) => Progress,
) {
  mkdirSync(folder, { recursive: true });
  const { name, layers, mix } = MIXTURES[which];
  const path = join(folder, `${name}-${layers}-layers-${mix}-${seed}.gguf`);
  if (existsSync(path)) return path;
  const unfinished = temporaryPath(path);
  let bar: Progress | undefined;
  const onPiece = (pieces: number, tensor: string): void => {
    bar ??= progress(pieces);
    bar.step(`making ${name}: ${tensor}`);
  };
  await makeGguf({ shape: mixtureShape(which), mix, seed, path: unfinished, distinct: DISTINCT, onPiece });
  bar?.stop();
  renameSync(unfinished, path);
  return path;
}
