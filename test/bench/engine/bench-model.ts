import { existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadCatalogue } from '../../../datasets/load.ts';
import type { MadeMix } from '../../../engine/gguf/make/made-model.ts';
import { makeGguf } from '../../../engine/gguf/make/make-gguf.ts';
import { createProgress } from '../../../engine/terminal/progress.ts';

const SHAPE = 'TinyLlama-1.1B';
const FOLDER = join(tmpdir(), 'hearth-bench');

/** Path of the model that `hearth make-model --shape 1b --seed 1` writes, made once for each mix and kept. */
export async function benchModel(mix: MadeMix): Promise<string> {
  const path = join(FOLDER, `1b-${mix}.gguf`);
  if (existsSync(path)) return path;
  const shape = loadCatalogue().find((model) => model.shape.name === SHAPE)?.shape;
  if (shape === undefined) throw new Error(`${SHAPE} is not in the catalogue`);
  process.stderr.write(`making ${path}\n`);
  mkdirSync(FOLDER, { recursive: true });
  let progress: ReturnType<typeof createProgress> | undefined;
  try {
    await makeGguf({
      shape,
      mix,
      seed: 1,
      path,
      onPiece(pieces, tensor) {
        progress ??= createProgress(pieces);
        progress.step(tensor);
      },
    });
  } finally {
    progress?.stop();
  }
  return path;
}
