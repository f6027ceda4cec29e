import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeOutputFolder } from '../../commands/output-file.ts';
import { loadCatalogue } from '../../datasets/load.ts';
import { makeGguf } from '../../engine/gguf/make/make-gguf.ts';
import { loadAddon } from '../../engine/kernels/native/addon.ts';
import { type Shape, type UniformShape, uniformShape } from '../../engine/model/architecture.ts';
import type { Mix } from '../../engine/model/mix.ts';
import { readAnew } from '../../engine/profile/disk.ts';
import { createProgress, type Progress } from '../../engine/terminal/progress.ts';

/** Half a billion weights, with fewer and wider heads than TinyLlama. */
const HALF_BILLION: Shape = uniformShape({
  name: 'Random-0.5B',
  architecture: 'llama',
  layers: 16,
  hiddenSize: 1536,
  ffnSize: 4096,
  heads: 12,
  kvHeads: 4,
  headSize: 128,
  vocabularySize: 32_000,
  tiedEmbeddings: false,
  qkvBias: false,
});

/**
 * Three layers of TinyLlama-1.1B, whose matrices are as wide as those of the probes, and a small vocabulary: small enough
 * for a GPU in software, and for a sweep of a server's loads in minutes.
 */
export const SMALL: UniformShape = {
  name: 'Random-140M',
  architecture: 'llama',
  layers: 3,
  hiddenSize: 2048,
  ffnSize: 5632,
  heads: 32,
  kvHeads: 4,
  headSize: 64,
  vocabularySize: 2048,
  tiedEmbeddings: false,
  qkvBias: false,
};
export const SMALL_MODEL: Shape = uniformShape(SMALL);

const MIXES: readonly Mix[] = ['F16', 'Q8_0', 'Q4_K_M'];

/** Models with random weights in two sizes and three mixes, made unless they are in `folder`. @returns their files */
export async function madeModels(folder: string, seed: number): Promise<string[]> {
  const billion = loadCatalogue().find(({ shape }) => shape.name === 'TinyLlama-1.1B')?.shape as Shape;
  const files: string[] = [];
  for (const shape of [HALF_BILLION, billion]) {
    for (const mix of MIXES) files.push(await madeModel(folder, shape, mix, seed));
  }
  return files;
}

/** A model with random weights, made unless it is in `folder`. @returns its file */
export async function madeModel(folder: string, shape: Shape, mix: Mix, seed: number): Promise<string> {
  makeOutputFolder('--cache', folder);
  const path = join(folder, `${shape.name}-${mix}-${seed}.gguf`);
  if (existsSync(path)) return path;
  let progress: Progress | undefined;
  try {
    await makeGguf({
      shape,
      mix,
      seed,
      path,
      onPiece(pieces, tensor) {
        progress ??= createProgress(pieces);
        progress.step(`${shape.name} ${mix}: ${tensor}`);
      },
    });
  } finally {
    progress?.stop();
  }
  const addon = loadAddon();
  if (typeof addon !== 'string') readAnew(addon, path, statSync(path).size);
  return path;
}
