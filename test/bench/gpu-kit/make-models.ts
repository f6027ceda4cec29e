import type { FileMix } from '../../../engine/model/mix.ts';
import type { KitShapeName } from './contests.ts';
import { kitModel, kitShapes } from './models.ts';

/** What this process is given. */
export interface ModelsTask {
  readonly folder: string;
  readonly software: boolean;
  readonly models: readonly (readonly [shape: KitShapeName, mix: FileMix])[];
}

/** Makes models one after the other, beside steps that measure no time, and tells each. */
const { folder, software, models } = JSON.parse(process.argv[2] ?? '{}') as ModelsTask;
const shapes = kitShapes(software);
for (const [name, mix] of models) process.send?.((await kitModel(folder, { shape: shapes[name], mix })).made ?? null);
process.disconnect?.();
