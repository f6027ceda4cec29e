import { contestModels, kitModel } from './models.ts';

/** The input of this process. */
export interface ModelsTask {
  readonly folder: string;
  readonly software: boolean;
  /** How many of the contests' models, the first ones. */
  readonly count: number;
}

/** Makes models one after the other, during steps that measure no time, and tells each. */
const { folder, software, count } = JSON.parse(process.argv[2] ?? '{}') as ModelsTask;
for (const model of contestModels(software).slice(0, count))
  process.send?.((await kitModel(folder, model)).made ?? null);
process.disconnect?.();
