import type { Frame } from '../../engine/ring/wire/frame.ts';

/** A message of a head that assigns one layer and sends the result to `addresses`, which may be anything. */
export function prepareFrame(addresses: readonly unknown[]): Frame {
  const successors = addresses.map((address, index) => ({ name: `s${index}`, address, linkName: 'cd'.repeat(16) }));
  const windows = [{ index: 0, from: 0, to: 1, onGpu: [], next: { kind: 'device', name: 's0' } }];
  const sizes = { epoch: 1, windowCount: 2, context: 10, requests: 1, pageTokens: 10, chunk: 1 };
  const formats = { kvCache: 'F32', activations: 'F32', weights: { prefetch: 'none', release: 'none' }, trace: false };
  const assignment = { ...sizes, ...formats, windows, successors, predecessors: [], sources: [] };
  return { kind: 'message', payload: new TextEncoder().encode(JSON.stringify({ kind: 'prepare', assignment })) };
}
