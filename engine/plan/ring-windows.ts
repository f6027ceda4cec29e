import { InputError } from '../input/input-error.ts';
import type { Plan } from './plan.ts';
import { relaysOf, stopsBetween, type Window } from './windows.ts';

/**
 * The windows of a plan in the order in which a token visits them, including relays between them. A relay only forwards
 * activations; its `from` equals `to`.
 * @param ring names of all devices, in ring order
 * @throws InputError for what the ring can't carry out: layers on GPUs, cut or streamed ones, a KV cache elsewhere
 */
export function ringWindows(plan: Plan, ring: readonly string[]): Window[] {
  const windows: Window[] = [];
  if (plan.kind === 'tensor-parallel' || plan.kind === 'chip')
    throw new InputError('plan: kind', `is "${plan.kind}"; the ring carries out plans of kind "ring" and "split"`);
  const relays = relaysOf(plan);
  let at = plan.embedding.device;
  for (const [index, { device, processor, from, to, streamed }] of plan.stages.entries()) {
    const where = `plan: stages[${index}]`;
    if (processor !== 'cpu') throw new InputError(where, 'runs on a GPU; the ring computes on CPUs, use "cpu"');
    if (streamed !== undefined) throw new InputError(where, 'is streamed; the ring runs layers where they lie');
    const last = windows.at(-1);
    if (last?.device === device && last.to === from) {
      windows[windows.length - 1] = { device, from: last.from, to };
      continue;
    }
    for (const relay of stopsBetween(ring, relays, at, device).slice(0, -1))
      windows.push({ device: relay, from, to: from });
    windows.push({ device, from, to });
    at = device;
  }
  const layers = windows.at(-1)?.to ?? 0;
  for (const relay of stopsBetween(ring, relays, at, plan.output.device).slice(0, -1))
    windows.push({ device: relay, from: layers, to: layers });
  return windows;
}
