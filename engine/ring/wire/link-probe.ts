import { clock } from './clock.ts';
import type { ProbeFrame } from './frame.ts';
import type { MeasuredLink } from './message.ts';

/** Sends a probe of `bytes` bytes; resolves when its echo arrives. */
export type Probe = (bytes: number) => Promise<void>;

/** The number of empty probes, of which the fastest gives the latency. */
const EMPTY_PROBES = 8;

/** Seconds to wait for an echo; a slower link is useless. */
const ECHO_TIMEOUT = 10;

/** Sends probes over a link and matches echoes to them. @param send sends a probe */
export function createProbe(send: (frame: ProbeFrame) => Promise<void>) {
  const waiting = new Map<number, (error?: Error) => void>();
  let next = 0;
  return {
    onEcho: ({ tag }: ProbeFrame): void => waiting.get(tag)?.(),
    /** Ends all waits for echoes: the link is lost. */
    lost(reason: string): void {
      for (const end of [...waiting.values()]) end(new Error(reason));
    },
    probe(bytes: number): Promise<void> {
      const tag = next++;
      return new Promise((resolve, reject) => {
        const end = (error?: Error): void => {
          clearTimeout(late);
          waiting.delete(tag);
          if (error === undefined) resolve();
          else reject(error);
        };
        const late = setTimeout(() => end(new Error(`no echo within ${ECHO_TIMEOUT} s`)), 1000 * ECHO_TIMEOUT);
        waiting.set(tag, end);
        send({ kind: 'probe', tag, payload: new Uint8Array(bytes) }).catch(end);
      });
    },
  };
}

/**
 * Measures a link. The latency is half the shortest round trip; the bandwidth follows from the extra time that `bytes`
 * take one way, since echoes are empty.
 * @throws Error if an echo doesn't arrive
 */
export async function probeLink(to: string, probe: Probe, bytes: number): Promise<MeasuredLink> {
  const seconds = async (size: number): Promise<number> => {
    const start = clock();
    await probe(size);
    return clock() - start;
  };
  let shortest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < EMPTY_PROBES; i++) shortest = Math.min(shortest, await seconds(0));
  const large = Math.min(await seconds(bytes), await seconds(bytes));
  return { to, latency: shortest / 2, bandwidth: bytes / Math.max(large - shortest, 1e-6) };
}
