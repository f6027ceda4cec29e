import { formatBytes } from '../../input/format.ts';
import type { Shape } from '../../model/architecture.ts';
import { kvBytesPerToken, sharedHeads } from '../../model/kv-format.ts';
import { heldBytes } from '../../runtime/weights/process-counters.ts';
import type { Assignment, HeldMemory, WeightsReport, WindowAssignment } from '../wire/message.ts';
import type { LoadedPart } from './loaded-part.ts';

type Layers = Pick<WindowAssignment, 'from' | 'to' | 'onGpu'>;
type Caches = Pick<Assignment, 'windows' | 'context' | 'requests' | 'pageTokens' | 'kvCache'>;

/** The layers of a device's windows, in the order in which a token visits them. */
export function layersOf(windows: Iterable<Pick<Layers, 'from' | 'to'>>): number[] {
  return [...windows].flatMap(({ from, to }) => Array.from({ length: to - from }, (_, index) => from + index));
}

/** Those whose weights and KV caches are in RAM: the GPU's have a memory of their own. */
export function layersInRam(windows: Iterable<Layers>): number[] {
  return [...windows].flatMap((window) => layersOf([window]).filter((layer) => !window.onGpu.includes(layer)));
}

/** Pages of keys and values that a device numbers: those of all requests. */
export function pageCount({
  context,
  requests,
  pageTokens,
}: Pick<Caches, 'context' | 'requests' | 'pageTokens'>): number {
  return requests * Math.ceil(context / pageTokens);
}

/** Bytes of all pages of keys and values of a device's layers in RAM. */
function cacheBytes({ windows, kvCache, ...pages }: Caches, shape: Shape): number {
  return (
    layersInRam(windows).length *
    pageCount(pages) *
    Math.min(pages.pageTokens, pages.context) *
    kvBytesPerToken(sharedHeads(shape), kvCache)
  );
}

/** Bytes that a device can't give back under an assignment: full KV caches, activations and pinned weights. */
export function plannedBytes(
  assignment: Caches,
  { part, activationsBytes }: LoadedPart,
  weights: WeightsReport | undefined,
): number {
  const pinned = weights?.policy.release === 'pinned' ? weights.policy.pinned : 0;
  return cacheBytes(assignment, part.model) + activationsBytes + pinned;
}

/** What this process holds now, beside what is planned. */
export function heldMemory(limit: number, planned: number): HeldMemory {
  return { limit, planned, measured: heldBytes() };
}

/** Bytes that a device has left for weights besides full KV caches and activations. */
export function weightsRoom(assignment: Caches, { part, activationsBytes }: LoadedPart, memory: number): number {
  return memory - cacheBytes(assignment, part.model) - activationsBytes;
}

/**
 * Whether the KV caches of an assignment fit into a device's memory.
 * @returns figures for a message, or `undefined` if they fit
 */
export function missingCacheMemory(assignment: Caches, shape: Shape, memory: number) {
  const needed = cacheBytes(assignment, shape);
  if (needed <= memory) return undefined;
  return { layers: layersInRam(assignment.windows).length, needs: formatBytes(needed), has: formatBytes(memory) };
}
