import { formatSeconds, threeDigits } from '../../engine/input/format.ts';
import type { TimelineResult } from './run.ts';

/** A statement of prima.cpp about Fig. 6, and whether it holds here. */
export interface Claim {
  readonly text: string;
  readonly found: string;
  readonly holds: boolean;
}

/** Ratios that count as twice the bytes. */
const TWICE = [1.98, 2.02] as const;

/** The statements of section 3.1 and A.2 about Fig. 6. */
export function claims(results: readonly TimelineResult[]): Claim[] {
  const of = (key: TimelineResult['key']): TimelineResult => results.find((one) => one.key === key) as TimelineResult;
  const [a, b, c, d, e, f, reference] = (['a', 'b', 'c', 'd', 'e', 'f', 'b, PP'] as const).map(of) as [
    TimelineResult,
    TimelineResult,
    TimelineResult,
    TimelineResult,
    TimelineResult,
    TimelineResult,
    TimelineResult,
  ];
  const readTwice = e.readBytes / d.readBytes;
  return [
    {
      text: '(a) On fast disks, disk loading is fully overlapped.',
      found: `stalls of ${formatSeconds(a.stallSeconds)} in ${formatSeconds(a.tokenSeconds)}`,
      holds: a.stallSeconds < 0.001 * a.tokenSeconds,
    },
    {
      text: '(b) On slow disks part of it is not, but less than in PP.',
      found: `stalls of ${formatSeconds(b.stallSeconds)}, in PP ${formatSeconds(reference.stallSeconds)}`,
      holds: b.stallSeconds > 0 && b.stallSeconds < reference.stallSeconds,
    },
    {
      text: '(b) CPU and disk operate alternately, which removes bubbles.',
      found: `bubbles of ${formatSeconds(b.idleSeconds)} on four devices, in PP ${formatSeconds(reference.idleSeconds)}`,
      holds: b.idleSeconds < 0.01 * reference.idleSeconds,
    },
    {
      text: '(c) A slow disk leaves bubbles on the others, and PRP still reduces the TPOT of PP.',
      found: `bubbles of ${formatSeconds(c.idleSeconds)}; ${formatSeconds(c.tokenSeconds)}, in PP ${formatSeconds(d.tokenSeconds)}`,
      holds: c.idleSeconds > b.idleSeconds && c.tokenSeconds < Math.min(d.tokenSeconds, e.tokenSeconds),
    },
    {
      text: '(e) Prefetching beyond memory adds disk I/O without benefit.',
      found: `${threeDigits(readTwice)} times the bytes of (d), ${threeDigits(e.tokenSeconds / d.tokenSeconds)} times its TPOT`,
      holds: readTwice > TWICE[0] && readTwice < TWICE[1] && e.tokenSeconds >= 0.999 * d.tokenSeconds,
    },
    {
      text: '(f) Windows that match the devices reduce the bubbles of (c).',
      found: `bubbles of ${formatSeconds(f.idleSeconds)} against ${formatSeconds(c.idleSeconds)}, TPOT of ${formatSeconds(f.tokenSeconds)} against ${formatSeconds(c.tokenSeconds)}`,
      holds: f.idleSeconds < c.idleSeconds && f.tokenSeconds < c.tokenSeconds,
    },
  ];
}
