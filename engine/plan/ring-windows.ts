import { InputError } from '../input/input-error.ts';
import type { Plan } from './plan.ts';
import { relaysOf, stopsBetween, type Window } from './windows.ts';

/**
 * The windows of a plan in the order in which a token visits them, including relays between them. A relay only forwards
 * activations; its `from` equals `to`.
 * @throws InputError for what the ring can't carry out: layers that are cut or streamed, and experts on another processor than
 *   their layer
 */
export function ringWindows(plan: Plan): Window[] {
  const windows: Window[] = [];
  if (plan.kind === 'expert-parallel')
    throw new InputError('plan: kind', 'is "expert-parallel", whose devices hold experts; for whole layers use "ring"');
  if (plan.kind === 'tensor-parallel')
    throw new InputError('plan: kind', 'is "tensor-parallel", which cuts every layer; for whole layers use "ring"');
  if (plan.kind === 'chip')
    throw new InputError(
      'plan: kind',
      'is "chip"; the ring carries out plans of kind "ring", "split", "expert-parallel" and "tensor-parallel"',
    );
  const relays = relaysOf(plan);
  let at = plan.embedding.device;
  for (const [index, { device, processor, from, to, streamed, partition, cpuExperts }] of plan.stages.entries()) {
    const where = `plan: stages[${index}]`;
    if (partition !== undefined) throw new InputError(where, 'is cut between GPU and NPU; the ring runs whole layers');
    if (streamed !== undefined) throw new InputError(where, 'is streamed; the ring runs layers where they lie');
    if (cpuExperts !== undefined)
      throw new InputError(`${where}.cpuExperts`, 'leaves experts on the CPU; a ring runs them where their layer is');
    const onGpu = processor === 'gpu' ? range(from, to) : [];
    const last = windows.at(-1);
    if (last?.device === device && last.to === from) {
      windows[windows.length - 1] = windowOf(device, last.from, to, [...(last.onGpu ?? []), ...onGpu]);
      continue;
    }
    for (const relay of stopsBetween(relays, at, device).slice(0, -1)) windows.push({ device: relay, from, to: from });
    windows.push(windowOf(device, from, to, onGpu));
    at = device;
  }
  const layers = windows.at(-1)?.to ?? 0;
  for (const relay of stopsBetween(relays, at, plan.output.device).slice(0, -1))
    windows.push({ device: relay, from: layers, to: layers });
  return windows;
}

function windowOf(device: string, from: number, to: number, onGpu: readonly number[]): Window {
  return onGpu.length === 0 ? { device, from, to } : { device, from, to, onGpu };
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}
