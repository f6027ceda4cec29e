import { clock } from './clock.ts';
import type { ProbeFrame } from './frame.ts';
import type { MeasuredLink } from './message.ts';

/** Sends a probe and resolves when its echo is back. */
export type Probe = (bytes: number) => Promise<void>;

/** Small probes before the large one: the quickest of them is the latency. */
const SMALL = 8;

/** Seconds for an echo; beyond it a link is no use. */
const PATIENCE = 10;

/** Matches echoes to probes. @param send hands a probe to the link */
export function createProbe(send: (frame: ProbeFrame) => Promise<void>) {
  const waiting = new Map<number, () => void>();
  let next = 0;
  return {
    onEcho: ({ tag }: ProbeFrame): void => waiting.get(tag)?.(),
    probe(bytes: number): Promise<void> {
      const tag = next++;
      return new Promise((resolve, reject) => {
        const late = setTimeout(() => {
          waiting.delete(tag);
          reject(new Error(`no echo within ${PATIENCE} s`));
        }, 1000 * PATIENCE);
        waiting.set(tag, () => {
          clearTimeout(late);
          waiting.delete(tag);
          resolve();
        });
        send({ kind: 'probe', tag, payload: new Uint8Array(bytes) }).catch(reject);
      });
    },
  };
}

/**
 * What a link does: half the quickest round trip, and the rate at which `bytes` more go one way (echoes are empty).
 * @throws Error where an echo doesn't come
 */
export async function probeLink(to: string, probe: Probe, bytes: number): Promise<MeasuredLink> {
  const seconds = async (size: number): Promise<number> => {
    const start = clock();
    await probe(size);
    return clock() - start;
  };
  let quickest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < SMALL; i++) quickest = Math.min(quickest, await seconds(0));
  const large = Math.min(await seconds(bytes), await seconds(bytes));
  return { to, latency: quickest / 2, bandwidth: bytes / Math.max(large - quickest, 1e-6) };
}
