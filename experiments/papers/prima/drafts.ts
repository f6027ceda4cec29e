import type { PublishedCell } from '../../../datasets/published.ts';
import { predict } from '../../../engine/cost/predict.ts';
import { type Speculation, speculativeSeconds } from '../../../engine/cost/speculation.ts';
import { type Cluster, withDevices } from '../../../engine/hardware/cluster.ts';
import type { Device, ProcessorKind } from '../../../engine/hardware/device.ts';
import { uniformShape } from '../../../engine/model/architecture.ts';
import { createModel, type Model } from '../../../engine/model/model.ts';
import { ringPlan } from '../../../engine/plan/ring-plan.ts';
import { withDevice } from './machines.ts';

/** A draft model that runs on the ring's head, as a process of its own (App. A.9). */
export interface Draft {
  readonly model: Model;
  readonly processor: ProcessorKind;
}

/**
 * Five tokens are drafted at a time (App. A.9). How many are accepted is not stated: one rate for all models, calibrated
 * to Table 10's Llama 3.3-70B (442 ms), the print with the least relative spread; the other seven cells test it.
 */
export const SPECULATION: Speculation = { draftTokens: 5, acceptanceRate: 0.7 };

const QWEN = {
  architecture: 'qwen2',
  headSize: 128,
  kvHeads: 2,
  vocabularySize: 151_936,
  tiedEmbeddings: true,
  qkvBias: true,
} as const;

/** Specification: public configurations of Qwen 2.5. */
const QWEN_SHAPES = [
  { ...QWEN, name: 'Qwen2.5-0.5B', layers: 24, hiddenSize: 896, ffnSize: 4864, heads: 14, headSize: 64 },
  { ...QWEN, name: 'Qwen2.5-1.5B', layers: 28, hiddenSize: 1536, ffnSize: 8960, heads: 12 },
  { ...QWEN, name: 'Qwen2.5-3B', layers: 36, hiddenSize: 2048, ffnSize: 11_008, heads: 16 },
].map(uniformShape);

const LLAMA_NAMES: Readonly<Record<string, string>> = { '1': 'Llama-3.2-1B', '3': 'Llama-3.2-3B', '8': 'Llama-3-8B' };

/**
 * The draft model of a cell, of the target's family, in Q4_K_M like all models of the table.
 * @throws RangeError where the table names no draft of a size that is known
 */
export function draftOf(
  cell: PublishedCell,
  published: readonly PublishedCell[],
  modelOf: (name: string) => Model,
): Draft {
  const { table, row, column, note } = cell;
  const size = published.find(
    (one) => one.table === table && one.row === row && one.column === `${column} draft size`,
  )?.value;
  const billions = String(Number(size) / 1e9);
  const processor = /on GPU/.test(note) ? 'gpu' : 'cpu';
  const shape = QWEN_SHAPES.find(({ name }) => name === `Qwen2.5-${billions}B`);
  if (cell.model.startsWith('Qwen') && shape !== undefined) return { model: createModel(shape, 'Q4_K_M'), processor };
  const name = LLAMA_NAMES[billions];
  if (name === undefined) throw new RangeError(`${table}, ${row}, ${column}: no draft model of ${billions}B is known`);
  return { model: modelOf(`${name}:Q4_K_M`), processor };
}

/**
 * The devices with a draft model on the head. In VRAM it is loaded before the program looks at what is free (commit
 * 9bf6565d), so that schedulers see it too; in RAM it is mapped, which MemAvailable doesn't count.
 */
export function besideDraft(cluster: Cluster, { model, processor }: Draft, sees: 'belief' | 'truth'): Cluster {
  const { name } = cluster.devices[0] as Device;
  const bytes = model.layers * model.layer.bytes + model.output.bytes;
  return withDevice(cluster, name, (device) => {
    const { gpu, memory } = device;
    if (processor === 'gpu' && gpu !== undefined)
      return { ...device, gpu: { ...gpu, memory: { ...gpu.memory, available: gpu.memory.available - bytes } } };
    return sees === 'belief' ? device : { ...device, memory: { ...memory, available: memory.available - bytes } };
  });
}

/** TPOT of a draft model on the head alone, seconds. */
export function draftTokenSeconds(
  cluster: Cluster,
  { model, processor }: Draft,
  workload: Parameters<typeof predict>[0]['workload'],
): number {
  const { name } = cluster.devices[0] as Device;
  const windows = [{ device: name, layers: model.layers, gpuLayers: processor === 'gpu' ? model.layers : 0 }];
  const plan = ringPlan({ scheduler: 'single-device', head: name, rounds: 1, windows, outputProcessor: processor });
  return predict({ plan, truth: withDevices(cluster, [name]), model, workload }).tokenSeconds;
}

/** TPOT with drafts. @param verify seconds in which the target verifies this many tokens */
export function draftedSeconds(draftSeconds: number, verifySeconds: (tokens: number) => number): number {
  return speculativeSeconds({ ...SPECULATION, draftSeconds, verifySeconds });
}
