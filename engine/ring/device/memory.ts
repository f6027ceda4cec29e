import { HELM_PAGING } from '../../cost/kv-pages.ts';
import { formatBytes } from '../../input/format.ts';
import type { Shape } from '../../model/architecture.ts';
import { STATE_VALUE_BYTES } from '../../model/kept-bytes.ts';
import { kvBytesPerToken } from '../../model/kv-format.ts';
import type { Plan } from '../../plan/plan.ts';
import { stateValues } from '../../runtime/kv/layer-states.ts';
import { sliceShapes } from '../../runtime/kv/slice-shapes.ts';
import { heldBytes } from '../../runtime/weights/process-counters.ts';
import type { Assignment, HeldMemory, WeightsReport, WindowAssignment } from '../wire/message.ts';
import type { LoadedPart } from './loaded-part.ts';

type Layers = Pick<WindowAssignment, 'from' | 'to' | 'onGpu'>;
type Caches = Pick<Assignment, 'windows' | 'context' | 'requests' | 'pageTokens' | 'kvCache' | 'keysInRam'>;

/** The layers of a device's windows, in the order in which a token visits them. */
export function layersOf(windows: Iterable<Pick<Layers, 'from' | 'to'>>): number[] {
  return [...windows].flatMap(({ from, to }) => Array.from({ length: to - from }, (_, index) => from + index));
}

/** Layers whose weights are in RAM, and their KV caches with them: those of the GPU have a memory of their own. */
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

/**
 * Tokens of a page of keys and values for texts that need no pages otherwise: the whole context, or as many as HELM's if
 * the plan keeps those of layers on GPUs in RAM, where they pass through in pages.
 */
export function pageTokensOf(plan: Pick<Plan, 'kvCache'> | undefined, context: number): number {
  return plan?.kvCache === 'host' ? Math.min(context, HELM_PAGING.pageTokens) : context;
}

/** Layers whose keys and values are in RAM. */
function layersCached({ windows, keysInRam = false }: Pick<Caches, 'windows' | 'keysInRam'>): number[] {
  return keysInRam ? layersOf(windows) : layersInRam(windows);
}

/** Bytes of all pages of keys and values of a device's layers in RAM, and of all requests' states there. */
function cacheBytes(caches: Caches, shape: Shape): number {
  const { windows, kvCache, ...pages } = caches;
  const tokens = pageCount(pages) * Math.min(pages.pageTokens, pages.context);
  const slices = sliceShapes(shape, kvCache, { from: 0, to: shape.layers });
  const withStates = new Set(layersInRam(windows));
  return layersCached(caches).reduce((sum, layer) => {
    const slice = slices[layer];
    const values = withStates.has(layer) ? stateValues(shape, { from: layer, to: layer + 1 }) : 0;
    const states = STATE_VALUE_BYTES * values;
    return sum + pages.requests * states + (slice === undefined ? 0 : tokens * kvBytesPerToken(slice, kvCache));
  }, 0);
}

/** Bytes that a device can't give back under an assignment: full KV caches, activations, pinned weights and slots of experts. */
export function plannedBytes(
  assignment: Caches,
  { part, activationsBytes }: LoadedPart,
  {
    weights,
    experts,
  }: { readonly weights: WeightsReport | undefined; readonly experts: { readonly bytes: number } | undefined },
): number {
  const pinned = weights?.policy.release === 'pinned' ? weights.policy.pinned : 0;
  return cacheBytes(assignment, part.model) + activationsBytes + pinned + (experts?.bytes ?? 0);
}

/** Memory that this process holds now, next to what was planned. */
export function heldMemory(limit: number, planned: number): HeldMemory {
  return { limit, planned, measured: heldBytes() };
}

/** Bytes that a device has left for weights after full KV caches and activations. */
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
  return { layers: layersCached(assignment).length, needs: formatBytes(needed), has: formatBytes(memory) };
}
