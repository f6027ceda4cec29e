import { existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadCatalogue } from '../../../datasets/load.ts';
import { makeGguf } from '../../../engine/gguf/make/make-gguf.ts';
import type { FileMix } from '../../../engine/model/mix.ts';
import { createProgress } from '../../../engine/terminal/progress.ts';

/** Models of the catalogue by the names that --shape and --shapes take. */
export const SHAPES = { '1b': 'TinyLlama-1.1B', '8b': 'Llama-3-8B' } as const;
export type ShapeName = keyof typeof SHAPES;
export const SHAPE_NAMES = Object.keys(SHAPES) as ShapeName[];

const FOLDER = join(tmpdir(), 'hearth-bench');

/** Path of the model that `hearth make-model --shape NAME --seed 1` writes, made once for each mix and kept. */
export async function benchModel(mix: FileMix, name: ShapeName): Promise<string> {
  const path = join(FOLDER, `${name}-${mix}.gguf`);
  if (existsSync(path)) return path;
  const shape = loadCatalogue().find((model) => model.shape.name === SHAPES[name])?.shape;
  if (shape === undefined) throw new Error(`${SHAPES[name]} is not in the catalogue`);
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
