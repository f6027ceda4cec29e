import { InputError } from '../input/input-error.ts';
import type { Plan, Stage } from './plan.ts';
import { relaysOf, stopsBetween, type Window } from './windows.ts';

/**
 * The windows of a plan in the order in which a token visits them, including relays between them. A relay only forwards
 * activations; its `from` equals `to`.
 * @throws InputError for what the ring can't carry out: tensors that devices share, and experts on another processor than their
 *   layer
 */
export function ringWindows(plan: Plan): Window[] {
  const windows: Window[] = [];
  if (plan.kind === 'expert-parallel')
    throw new InputError('plan: kind', 'is "expert-parallel", whose devices hold experts; for whole layers use "ring"');
  if (plan.kind === 'tensor-parallel')
    throw new InputError('plan: kind', 'is "tensor-parallel", which cuts every layer; for whole layers use "ring"');
  const relays = relaysOf(plan);
  let at = plan.embedding.device;
  for (const [index, { device, processor, from, to, partition, cpuExperts }] of plan.stages.entries()) {
    const where = `plan: stages[${index}]`;
    if (cpuExperts !== undefined)
      throw new InputError(`${where}.cpuExperts`, 'leaves experts on the CPU; a ring runs them where their layer is');
    const own = range(from, to);
    const onGpu = processor === 'gpu' && partition === undefined ? own : [];
    const onNpu = partition === undefined ? [] : own;
    const last = windows.at(-1);
    if (last?.device === device && last.to === from) {
      const [gpu, npu] = [
        [...(last.onGpu ?? []), ...onGpu],
        [...(last.onNpu ?? []), ...onNpu],
      ];
      windows[windows.length - 1] = windowOf({ device, from: last.from, to }, gpu, npu);
      continue;
    }
    for (const relay of stopsBetween(relays, at, device).slice(0, -1)) windows.push({ device: relay, from, to: from });
    windows.push(windowOf({ device, from, to }, onGpu, onNpu));
    at = device;
  }
  const layers = windows.at(-1)?.to ?? 0;
  for (const relay of stopsBetween(relays, at, plan.output.device).slice(0, -1))
    windows.push({ device: relay, from: layers, to: layers });
  return windows;
}

function windowOf(layers: Window, onGpu: readonly number[], onNpu: readonly number[]): Window {
  return { ...layers, ...(onGpu.length > 0 && { onGpu }), ...(onNpu.length > 0 && { onNpu }) };
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

/** Weights that a device copies to its GPU for every pass (Stage.streamed). */
export interface StreamedLayers {
  readonly way: NonNullable<Stage['streamed']>;
  readonly layers: readonly number[];
  /** Whether the output layer is copied too. */
  readonly output: boolean;
}

/** By device that streams weights to its GPU. @throws InputError for one that streams in two ways, whose memory differs */
export function streamedLayers({
  stages,
  output,
}: Pick<Plan, 'stages' | 'output'>): ReadonlyMap<string, StreamedLayers> {
  const found = new Map<string, StreamedLayers>();
  for (const [index, { device, streamed, from, to }] of stages.entries()) {
    if (streamed === undefined) continue;
    const { way, layers } = found.get(device) ?? { way: streamed, layers: [] };
    if (way !== streamed)
      throw new InputError(
        `plan: stages[${index}].streamed`,
        `is "${streamed}"; another stage of ${device} has "${way}"`,
      );
    found.set(device, { way, layers: [...layers, ...range(from, to)], output: false });
  }
  if (output.streamed === undefined) return found;
  const own = found.get(output.device) ?? { way: output.streamed, layers: [] };
  return found.set(output.device, { ...own, output: true });
}
