import { enumerate, formatPercent } from '../../engine/input/format.ts';
import type { PhonesRow } from './plans.ts';
import type { Sweep, SweepPoint } from './sweeps.ts';

/** Smaller gains count as none. */
const GAIN = 0.01;

/** The time of a model’s token that phones save under `optimal`. */
interface Saving {
  readonly model: string;
  /** Share saved with phones, GPU and NPU, of the time without phones. */
  readonly all: number;
  /** Share saved of the time with the phones’ GPUs alone. */
  readonly npu: number;
}

function savings(rows: readonly PhonesRow[]): Saving[] {
  const tpot = (model: string, variant: string): number =>
    rows.find((row) => row.planner === 'optimal' && row.model === model && row.variant === variant)?.judged?.simulated
      .tpot ?? Number.POSITIVE_INFINITY;
  return [...new Set(rows.map(({ model }) => model))].map((model) => {
    const own = tpot(model, 'phones, GPU and NPU');
    return { model, all: 1 - own / tpot(model, 'no phones'), npu: 1 - own / tpot(model, 'phones, GPU alone') };
  });
}

/** Headline and findings of the page: the largest saving, and at most three lines with the next. */
export function phonesTop(rows: readonly PhonesRow[]): { headline: string; findings: string[] } {
  const most = savings(rows)
    .filter(({ all }) => all > GAIN)
    .sort((one, other) => other.all - one.all);
  const [first] = most;
  return {
    headline:
      first === undefined
        ? 'The phones shorten no token.'
        : `With the phones in the ring, a token of ${first.model} takes ${formatPercent(first.all)} less time.`,
    findings: most
      .slice(0, 3)
      .map(
        ({ model, all, npu }) =>
          `−${formatPercent(all)} time per token: ${model} (−${formatPercent(Math.max(0, npu))} compared with the phones’ GPUs alone).`,
      ),
  };
}

/** One sentence: the simulated gain of phones and their NPUs under `optimal`, and where it ends. */
export function phonesFinding(rows: readonly PhonesRow[], points: readonly SweepPoint[], swept: string): string {
  const gains = savings(rows);
  const helped = gains.filter(({ all }) => all > GAIN);
  const idle = gains.filter(({ all }) => all <= GAIN).map(({ model }) => model);
  const list = helped.map(
    ({ model, all, npu }) => `${model} ${formatPercent(all)} (${formatPercent(Math.max(0, npu))} over GPUs alone)`,
  );
  const gained =
    list.length === 0 ? 'The phones shorten no token' : `Phones with NPUs shorten a token of ${enumerate(list)}`;
  const none = idle.length === 0 ? '' : `, and of ${enumerate(idle)} not at all, since the others hold it`;
  const ends = [linkEnd(points), memoryEnd(points)].filter((end) => end !== undefined);
  const stops = ends.length === 0 ? '' : `; for ${swept} that ends where ${ends.join(' or ')}`;
  return `${gained}${none}${stops}.`;
}

/** Gain of phones with NPUs over none, by factor. */
function gainsOf(points: readonly SweepPoint[], sweep: Sweep): { factor: number; gain: number }[] {
  const own = points.filter((point) => point.sweep === sweep);
  return [...new Set(own.map(({ factor }) => factor))].map((factor) => {
    const seconds = (variant: string): number =>
      own.find((point) => point.factor === factor && point.variant === variant)?.judged?.simulated.tpot ??
      Number.POSITIVE_INFINITY;
    return { factor, gain: 1 - seconds('phones, GPU and NPU') / seconds('no phones') };
  });
}

/** The largest factor below the first that gains; undefined where none gains, or all do. */
function lastIdle(points: readonly SweepPoint[], sweep: Sweep): number | undefined {
  const gains = gainsOf(points, sweep);
  const first = gains.findIndex(({ gain }) => gain > GAIN);
  return gains[first - 1]?.factor;
}

function linkEnd(points: readonly SweepPoint[]): string | undefined {
  const factor = lastIdle(points, 'link speed');
  return factor === undefined ? undefined : `links are ${Math.round(1 / factor)} times slower`;
}

function memoryEnd(points: readonly SweepPoint[]): string | undefined {
  const factor = lastIdle(points, 'phone memory');
  return factor === undefined ? undefined : `phones have 1/${Math.round(1 / factor)} of their memory`;
}
