import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { makeGguf } from '../../engine/gguf/make/make-gguf.ts';
import type { Shape } from '../../engine/model/architecture.ts';
import type { Mix } from '../../engine/model/mix.ts';
import { createProgress, type Progress } from '../../engine/terminal/progress.ts';

/** The common shape of the models: 32 layers, so that four devices can take eight rounds; everything else is small. */
const COMMON = {
  architecture: 'llama',
  layers: 32,
  headSize: 128,
  vocabularySize: 1024,
  tiedEmbeddings: false,
  qkvBias: false,
} as const;

/** Models of a lab, with the size of 32 layers in F16. */
export const LAB_SHAPES = {
  /** 0.60 GB, 151 MB on each of four devices. */
  small: { ...COMMON, name: 'Lab-0.3B', hiddenSize: 1024, ffnSize: 2048, heads: 8, kvHeads: 4 },
  /** 2.2 GB, 554 MB on each of four devices. */
  medium: { ...COMMON, name: 'Lab-1B', hiddenSize: 2048, ffnSize: 3584, heads: 16, kvHeads: 8 },
  /** 4.3 GB, 1074 MB on each of four devices, as in the C prototype of the ring. */
  large: { ...COMMON, name: 'Lab-2B', hiddenSize: 2048, ffnSize: 8192, heads: 16, kvHeads: 16 },
} as const satisfies Record<string, Shape>;
export type LabSize = keyof typeof LAB_SHAPES;
export const LAB_SIZES = Object.keys(LAB_SHAPES) as LabSize[];

const MIX: Mix = 'F16';

/** A model with random weights, made unless the folder has it. @param folder exists @returns the model's file */
export async function labModel(folder: string, size: LabSize, seed: number): Promise<string> {
  const shape = LAB_SHAPES[size];
  const path = join(folder, `${shape.name}-${MIX}-${seed}.gguf`);
  if (existsSync(path)) return path;
  const unfinished = `${path}.${process.pid}.tmp`;
  let progress: Progress | undefined;
  try {
    await makeGguf({
      shape,
      mix: MIX,
      seed,
      path: unfinished,
      onPiece(pieces, tensor) {
        progress ??= createProgress(pieces);
        progress.step(`${shape.name}: ${tensor}`);
      },
    });
    renameSync(unfinished, path);
  } finally {
    progress?.stop();
  }
  return path;
}
