import { existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadCatalogue } from '../../../datasets/load.ts';
import { makeGguf } from '../../../engine/gguf/make/make-gguf.ts';
import type { Shape } from '../../../engine/model/architecture.ts';
import type { FileMix } from '../../../engine/model/mix.ts';
import { createProgress } from '../../../engine/terminal/progress.ts';

/** Models of the catalogue by the names that --shape and --shapes take. */
export const SHAPES = { '1b': 'TinyLlama-1.1B', '8b': 'Llama-3-8B' } as const;
/** Models of today by the names that --shape takes, and how many of their layers are made; default: all. */
const OTHERS = {
  olmoe: { name: 'OLMoE-1B-7B', layers: 8 },
  'qwen3-mixture': { name: 'Qwen3-30B-A3B', layers: 12 },
  'gpt-oss': { name: 'gpt-oss-20b', layers: 8 },
  deepseek2: { name: 'GLM-4.7-Flash', layers: 8 },
  'gemma-3': { name: 'Gemma-3-1B' },
  'qwen3.5': { name: 'Qwen3.5-4B', layers: 16 },
  'qwen3-next': { name: 'Qwen3-Next-80B-A3B', layers: 4 },
  'granite-hybrid': { name: 'Granite-4.0-H-Tiny', layers: 16 },
} as const;
const MADE = { '1b': { name: SHAPES['1b'] }, '8b': { name: SHAPES['8b'] }, ...OTHERS } as const;
export type ShapeName = keyof typeof MADE;
export const SHAPE_NAMES = Object.keys(MADE) as ShapeName[];

/** Pieces of such a model's weights that are made before they repeat: making all takes longer than timing them. */
const DISTINCT = 8;

const FOLDER = join(tmpdir(), 'hearth-bench');

/** The model of the catalogue, cut to so many layers, which its name then says. */
export function madeShape(which: ShapeName): Shape {
  const { name, layers } = { layers: undefined, ...MADE[which] };
  const shape = loadCatalogue().find((model) => model.shape.name === name)?.shape;
  if (shape === undefined) throw new Error(`${name} is not in the catalogue`);
  if (layers === undefined) return shape;
  return { ...shape, name: `${name} cut to ${layers} layers`, layers, kinds: shape.kinds.slice(0, layers) };
}

/**
 * Path of the model that `hearth make-model --shape NAME --seed 1` writes, or of its first layers, made once for each mix
 * and kept.
 */
export async function benchModel(mix: FileMix, name: ShapeName): Promise<string> {
  const path = join(FOLDER, `${name}-${mix}.gguf`);
  if (existsSync(path)) return path;
  const shape = madeShape(name);
  process.stderr.write(`making ${path}\n`);
  mkdirSync(FOLDER, { recursive: true });
  let progress: ReturnType<typeof createProgress> | undefined;
  try {
    await makeGguf({
      ...{ shape, mix, seed: 1, path },
      ...(name in OTHERS ? { distinct: DISTINCT } : {}),
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
