import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { LAB_SHAPES, type LabSize } from '../../datasets/lab/shapes.ts';
import { makeGguf } from '../../engine/gguf/make/make-gguf.ts';
import type { Mix } from '../../engine/model/mix.ts';
import { createProgress, type Progress } from '../../engine/terminal/progress.ts';

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
