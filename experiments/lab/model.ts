import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { makeGguf } from '../../engine/gguf/make/make-gguf.ts';
import type { Shape } from '../../engine/model/architecture.ts';
import type { Mix } from '../../engine/model/mix.ts';
import { createProgress, type Progress } from '../../engine/terminal/progress.ts';

/** Models of a lab: 32 layers, so that four devices can go eight rounds, and next to nothing besides. */
const COMMON = {
  architecture: 'llama',
  layers: 32,
  headSize: 128,
  vocabularySize: 1024,
  tiedEmbeddings: false,
  qkvBias: false,
} as const;

/** By name, with what 32 layers take as F16. */
export const LAB_SHAPES = {
  /** 0.60 GB: a share of 151 MB. */
  small: { ...COMMON, name: 'Lab-0.3B', hiddenSize: 1024, ffnSize: 2048, heads: 8, kvHeads: 4 },
  /** 2.2 GB: a share of 554 MB. */
  medium: { ...COMMON, name: 'Lab-1B', hiddenSize: 2048, ffnSize: 3584, heads: 16, kvHeads: 8 },
  /** 4.3 GB: a share of 1074 MB, as the C prototype of the ring had. */
  large: { ...COMMON, name: 'Lab-2B', hiddenSize: 2048, ffnSize: 8192, heads: 16, kvHeads: 16 },
} as const satisfies Record<string, Shape>;
export type LabSize = keyof typeof LAB_SHAPES;
export const LAB_SIZES = Object.keys(LAB_SHAPES) as LabSize[];

const MIX: Mix = 'F16';

/** A model with random weights in an existing folder; made unless it is there. @returns its file */
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
