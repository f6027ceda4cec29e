import { existsSync, mkdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { loadCatalogue } from '../../../datasets/load.ts';
import { tensorBytes } from '../../../engine/gguf/encode-header.ts';
import { madeModel } from '../../../engine/gguf/make/made-model.ts';
import { makeGguf } from '../../../engine/gguf/make/make-gguf.ts';
import { formatBytes } from '../../../engine/input/format.ts';
import { InputError } from '../../../engine/input/input-error.ts';
import { type Shape, uniformShape } from '../../../engine/model/architecture.ts';
import type { LayerKind } from '../../../engine/model/layer-kind.ts';
import type { FileMix } from '../../../engine/model/mix.ts';
import { SMALL } from '../../../experiments/measure/made-models.ts';
import { contestants, KIT_SHAPES, type KitShapeName, MIXTURE_LAYERS } from './contests.ts';
import type { Cell } from './results.ts';

/** A model of the box, which is made from a seed where it is needed. */
export interface KitModel {
  readonly shape: Shape;
  readonly mix: FileMix;
}

/** The models' shapes: on a GPU in software small ones stand for both. */
export function kitShapes(software: boolean): Readonly<Record<KitShapeName, Shape>> {
  const named = (key: KitShapeName): Shape => {
    const found = loadCatalogue().find(({ shape }) => shape.name === KIT_SHAPES[key]);
    if (found === undefined) throw new Error(`${KIT_SHAPES[key]} is not in the catalogue`);
    return found.shape;
  };
  const [qwen3moe, oss] = [cut(named('qwen3moe'), MIXTURE_LAYERS), cut(named('gpt-oss'), MIXTURE_LAYERS)];
  if (!software) return { '1b': named('1b'), '8b': named('8b'), qwen3moe, 'gpt-oss': oss };
  const small = { ...SMALL, hiddenSize: 512, ffnSize: 1536, heads: 8, kvHeads: 2 };
  return {
    '1b': uniformShape({ ...small, name: 'Random-5M', layers: 1 }),
    '8b': uniformShape({ ...small, name: 'Random-11M' }),
    qwen3moe: narrowed(qwen3moe),
    'gpt-oss': narrowed(oss),
  };
}

/** The first layers of a model. */
function cut(shape: Shape, layers: number): Shape {
  return { ...shape, name: `${shape.name}-${layers}-layers`, layers, kinds: shape.kinds.slice(0, layers) };
}

/** Two layers of a mixture for a GPU in software: of the same make, with fewer and smaller experts. */
function narrowed(shape: Shape): Shape {
  const kinds = shape.kinds.slice(0, 2).map((kind): LayerKind => {
    const { mixer, feedForward } = kind;
    if (mixer?.kind !== 'attention' || feedForward?.kind !== 'experts')
      throw new RangeError(`${shape.name} is another`);
    return {
      ...kind,
      mixer: { ...mixer, heads: 8, kvHeads: 2, headSize: 64 },
      feedForward: { ...feedForward, size: 256, router: { ...feedForward.router, experts: 16, used: 4 } },
    };
  });
  const name = `Random-${shape.architecture}`;
  return { ...shape, name, layers: kinds.length, kinds, hiddenSize: 512, vocabularySize: SMALL.vocabularySize };
}

const modelBytes = ({ shape, mix }: KitModel): number =>
  madeModel(shape, mix).tensors.reduce((sum, tensor) => sum + tensorBytes(tensor), 0);

/** Pieces of 4 MB of each kind of matrix, more than the caches of GPUs hold; whole models take minutes. */
const DISTINCT_PIECES = 24;

/** The model of splits, batches and rings. */
export const splitModel = (software: boolean): KitModel => modelOf(contestants(software)[0], software);

/** The model whose experts are on the CPU, or on the GPU. */
export const mixtureModel = (software: boolean): KitModel => modelOf(contestants(software)[1], software);

/** The models of the contests, in their order. */
export const contestModels = (software: boolean): KitModel[] =>
  contestants(software).map((one) => modelOf(one, software));

function modelOf([name, mix]: ReturnType<typeof contestants>[number], software: boolean): KitModel {
  return { shape: kitShapes(software)[name], mix };
}

/** Bytes that stay free where models are written. */
const SPARE = 2 ** 30;

/**
 * The model's file, made unless it is there, and what is told of the making.
 * @throws InputError where there is no room for it
 */
export async function kitModel(folder: string, { shape, mix }: KitModel): Promise<{ path: string; made?: Cell }> {
  const path = join(folder, `${shape.name}-${mix}.gguf`);
  if (existsSync(path)) return { path };
  mkdirSync(folder, { recursive: true });
  const bytes = modelBytes({ shape, mix });
  const free = roomIn(folder);
  if (free < bytes + SPARE)
    throw new InputError(folder, `has ${formatBytes(free)} free, not ${formatBytes(bytes + SPARE)} for a model`);
  const start = performance.now();
  await makeGguf({ shape, mix, seed: 1, path, distinct: DISTINCT_PIECES });
  const seconds = (performance.now() - start) / 1000;
  return { path, made: { kind: 'model', model: shape.name, mix, bytes, seconds } };
}

/** Removes a model's file. */
export function dropModel(folder: string, { shape, mix }: KitModel): void {
  rmSync(join(folder, `${shape.name}-${mix}.gguf`), { force: true });
}

/** The folder of models unless another is given: in memory where it has room for the largest, else in TMPDIR. */
export function modelsFolder(temporary: string): string {
  const largest = modelBytes({ shape: kitShapes(false)['8b'], mix: 'F16' });
  const folder = ['/dev/shm', temporary].find((one) => existsSync(one) && roomIn(one) > 1.5 * largest) ?? temporary;
  return join(folder, 'hearth-gpu-models');
}

/** Bytes that can be written to a folder; to /dev/shm no more than memory has. */
function roomIn(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  const room = bavail * bsize;
  return folder.startsWith('/dev/shm') ? Math.min(room, process.availableMemory()) : room;
}
