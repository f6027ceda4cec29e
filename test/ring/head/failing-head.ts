import { DeviceLostError } from '../../../engine/ring/head/errors.ts';
import { type RecoverableHead, type RecoveringRing, recoveringRing } from '../../../engine/ring/head/lost-worker.ts';
import type { RingLayout } from '../../../engine/ring/head/planning.ts';
import type { PageCopy } from '../../../engine/ring/wire/frame.ts';

/**
 * A head whose assemblies and evaluations end, in order, with the given errors; `undefined`, and all later ones,
 * succeed. A lost device is no longer present.
 */
export function failingHead(failures: readonly (Error | undefined)[]) {
  const remaining = [...failures];
  let devices = ['h', 'a', 'b'];
  let requests = 0;
  const state = {
    whole: false,
    assembled: [] as string[],
    returned: new Set<string>(),
    evaluated: [] as number[][],
    requests: [] as number[],
    pages: [] as number[][],
    copies: [] as (readonly PageCopy[])[],
  };
  const lose = (device: string): void => {
    devices = devices.filter((name) => name !== device);
    state.whole = false;
  };
  const head: RecoverableHead = {
    present: () => devices,
    get whole() {
      return state.whole;
    },
    returned: state.returned,
    async assemble({ windows }) {
      state.assembled.push(windows.map(({ device }) => device).join(' '));
      const failure = remaining.shift();
      if (failure instanceof DeviceLostError) lose(failure.device);
      if (failure !== undefined) throw failure;
      state.whole = true;
      state.returned.clear();
    },
    request: () => requests++,
    async evaluate(work, copies = []) {
      state.copies.push(copies);
      state.evaluated.push(...work.map(({ tokens }) => [...tokens]));
      state.requests.push(...work.map(({ request }) => request));
      state.pages.push(...work.map(({ pages }) => [...pages]));
      const failure = remaining.shift();
      if (failure instanceof DeviceLostError) lose(failure.device);
      if (failure !== undefined) throw failure;
      return work.map(({ position, tokens, rows }) => new Float32Array(rows).fill(position + tokens.length));
    },
  };
  return { head, state };
}

export const layoutFor = (devices: readonly string[]): RingLayout => ({
  windows: devices.map((device, index) => ({ device, from: index, to: index + 1 })),
  weights: {},
});

export const lost = (device: string): DeviceLostError => new DeviceLostError(device, 'gone');

export function recovering(head: RecoverableHead, layout = layoutFor): { ring: RecoveringRing; log: string[] } {
  const log: string[] = [];
  return { ring: recoveringRing(head, layout, (line) => log.push(line)), log };
}
