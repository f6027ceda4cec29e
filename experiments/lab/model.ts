import { existsSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { LAB_SHAPES, type LabSize } from '../../datasets/lab/shapes.ts';
import { temporaryPath } from '../../engine/files/temporary-file.ts';
import { makeGguf } from '../../engine/gguf/make/make-gguf.ts';
import { formatBytes } from '../../engine/input/format.ts';
import type { Mix } from '../../engine/model/mix.ts';
import { createProgress, type Progress } from '../../engine/terminal/progress.ts';

const MIX: Mix = 'F16';

/** A model with random weights, made unless the folder has it. @param folder exists @returns the model's file */
export async function labModel(folder: string, size: LabSize, seed: number): Promise<string> {
  const shape = LAB_SHAPES[size];
  const path = join(folder, `${shape.name}-${MIX}-${seed}.gguf`);
  if (existsSync(path)) return path;
  const unfinished = temporaryPath(path);
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

/**
 * One line that names the models which labs have kept in a folder, their bytes, and a shell's command that removes them;
 * `undefined` if there are none. Other files of the folder are not named.
 */
export function keptModels(folder: string): string | undefined {
  const names = Object.values(LAB_SHAPES).map(({ name }) => name);
  const files = readdirSync(folder)
    .filter((file) => names.some((name) => file.startsWith(`${name}-${MIX}-`)) && /-\d+\.gguf$/.test(file))
    .sort()
    .map((file) => join(folder, file));
  if (files.length === 0) return undefined;
  const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
  const [noun, those] = files.length === 1 ? ['model', 'it'] : ['models', 'them'];
  const command = ['rm', ...files.map(quoted)].join(' ');
  return `keeps ${files.length} ${noun} (${formatBytes(bytes)}) for other runs; to remove ${those}: ${command}`;
}

/** A word of a shell's command. */
function quoted(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
