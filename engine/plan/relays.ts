import type { Plan } from './plan.ts';

/** The relays of a plan; only rings have any. */
export function relaysOf(plan: Plan): readonly string[] {
  return plan.kind === 'ring' ? (plan.relays ?? []) : [];
}

/**
 * The devices that a token reaches on its way from one device to another: the relays between the two in ring order,
 * then the destination; none if the two are the same.
 * @param ring names of all devices, in ring order
 */
export function stopsBetween(ring: readonly string[], relays: readonly string[], from: string, to: string): string[] {
  if (from === to) return [];
  if (relays.length === 0) return [to];
  const start = ring.indexOf(from);
  const onward = [...ring.slice(start + 1), ...ring.slice(0, start)];
  return [...onward.slice(0, onward.indexOf(to)).filter((device) => relays.includes(device)), to];
}
