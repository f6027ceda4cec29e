import { formatBytes } from '../../input/format.ts';
import { clock } from './clock.ts';
import type { ProbeFrame } from './frame.ts';
import type { MeasuredLink } from './message.ts';

/** Sends a probe of `bytes` bytes; resolves when its echo arrives. */
export type Probe = (bytes: number) => Promise<void>;

/** The number of empty probes, of which the fastest gives the latency; fewer, but LEAST_EMPTY, once EMPTY_SECONDS have passed. */
const EMPTY_PROBES = 8;
const LEAST_EMPTY = 3;
const EMPTY_SECONDS = 0.5;

/** Seconds to wait for an echo, or for another one after it: a link that takes longer is useless. */
const ECHO_TIMEOUT = 10;

/** Sends probes over a link and matches echoes to them. @param send sends a probe */
export function createProbe(send: (frame: ProbeFrame) => Promise<void>) {
  const waiting = new Map<number, { readonly end: (error?: Error) => void; readonly late: NodeJS.Timeout }>();
  let next = 0;
  return {
    onEcho({ tag }: ProbeFrame): void {
      waiting.get(tag)?.end();
      for (const { late } of waiting.values()) late.refresh(); // the link is slow, but it moves
    },
    /** Ends all waits for echoes: the link is lost. */
    lost(reason: string): void {
      for (const { end } of [...waiting.values()]) end(new Error(reason));
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
        const tooSlow = `the link is too slow: no echo of ${formatBytes(bytes)} within ${ECHO_TIMEOUT} s`;
        const late = setTimeout(() => end(new Error(tooSlow)), 1000 * ECHO_TIMEOUT);
        waiting.set(tag, { end, late });
        send({ kind: 'probe', tag, payload: new Uint8Array(bytes) }).catch(end);
      });
    },
  };
}

/** Probes of a train, which follow each other without waiting for echoes; its second half gives the bandwidth. */
const PIECES = 16;
/** Bytes of the first train, and how much longer each next one is. */
const FIRST_TRAIN = 2 ** 16;
const GROWTH = 4;
/**
 * Seconds, and round trips, that the second half of a train must take: TCP sends few packets per round trip at first, and
 * reaches a link's bandwidth only after some.
 */
const LEAST_SECONDS = 0.05;
const LEAST_TRIPS = 3;
/** Share of a train's time that its second half takes at least, but for such an accident. */
const LEAST_SHARE = 0.4;

/**
 * Measures a link. The latency is half the shortest round trip. The bandwidth is that of the second half of a train of
 * probes, by the times of their echoes, which are empty; trains grow until one is long enough for that, so that a fast
 * link is measured by many bytes, and a slow one in seconds.
 * @param bytes the longest train
 * @param now seconds
 * @throws Error if an echo doesn't arrive
 */
export async function probeLink(to: string, probe: Probe, bytes: number, now = clock): Promise<MeasuredLink> {
  const trip = await shortestTrip(probe, now);
  for (let train = Math.min(FIRST_TRAIN, bytes); ; train = Math.min(GROWTH * train, bytes)) {
    const piece = Math.ceil(train / PIECES);
    const start = now();
    const echoes = await Promise.all(Array.from({ length: PIECES }, () => probe(piece).then(now)));
    const [middle, end] = [echoes[PIECES / 2 - 1] as number, echoes[PIECES - 1] as number];
    const [half, whole] = [end - middle, end - start - trip];
    if (train < bytes && half < Math.max(LEAST_SECONDS, LEAST_TRIPS * trip)) continue;
    // Echoes come together after a lost packet, or from a busy device: then the time of all of them says more.
    const seconds = Math.max(half, LEAST_SHARE * whole, 1e-6);
    return { to, latency: trip / 2, bandwidth: (piece * PIECES) / 2 / seconds };
  }
}

async function shortestTrip(probe: Probe, now: () => number): Promise<number> {
  const begin = now();
  let shortest = Number.POSITIVE_INFINITY;
  for (let probes = 0; probes < EMPTY_PROBES; probes++) {
    if (probes >= LEAST_EMPTY && now() - begin > EMPTY_SECONDS) break;
    const start = now();
    await probe(0);
    shortest = Math.min(shortest, now() - start);
  }
  return shortest;
}
