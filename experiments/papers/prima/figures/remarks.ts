import type { MeasuredRun } from '../../../../datasets/measured.ts';
import { reloadRate } from '../../../../engine/hardware/device.ts';
import { formatBytes, formatPercent, formatSeconds } from '../../../../engine/input/format.ts';
import { planShares } from '../../../../engine/plan/plan.ts';
import { allOf, type PaperFigure, reduction } from './figure.ts';
import { ABLATION, gainsOfPrefetching, LARGE } from './prefetching.ts';
import { FIGURE_2, gainOfRounds } from './rounds.ts';
import type { FigureRuns, TableRun } from './runs.ts';

/** A gain in percent; a rounding error has no sign. */
const percent = (share: number | undefined): string =>
  share === undefined ? 'no figure' : formatPercent(Math.abs(share) < 5e-4 ? 0 : share);

/** Reasons why figures can't agree, with the arithmetic. */
export function figureRemarks(runs: FigureRuns, measured: readonly MeasuredRun[]): Map<PaperFigure, string[]> {
  return new Map([
    [FIGURE_2, roundsRemarks(runs, measured)],
    [ABLATION, prefetchingRemarks(runs)],
  ]);
}

/** Devices of Fig. 2. */
const DEVICES = 4;

function roundsRemarks(runs: FigureRuns, measured: readonly MeasuredRun[]): string[] {
  const simulated = (prefetch: 'populate' | 'willneed-whole', rounds: number): string =>
    percent(gainOfRounds(runs, prefetch, 'simulated', rounds));
  const program = (prefetch: MeasuredRun['prefetch'], rounds: number): string => {
    const seconds = (k: number): number | undefined =>
      measured.find((run) => run.program === 'prima.cpp' && run.prefetch === prefetch && run.rounds === k)
        ?.tokenSeconds;
    return percent(reduction(seconds(1), seconds(rounds)));
  };
  return [
    `"About 50 %" from k = 2 on. At k = 1 each of ${DEVICES} devices reads its share in turn, with several rounds all read at once if every page of a window is asked for (--force): 1 − 1 / ${DEVICES} = ${formatPercent(1 - 1 / DEVICES)} at most, ${simulated('populate', 2)} at k = 2 here, where a share that is read ahead is also computed meanwhile.`,
    `One call of posix_madvise for a window (--prefetch alone) reads 128 KiB ahead on a system as it is delivered, and rounds gain ${simulated('willneed-whole', 2)}. The program itself, measured where devices hold 62 % of their share and disks read 16 MiB ahead, gained ${program('touched', 2)} at k = 2 and ${program('touched', 4)} at k = 4 with --force, ${program('willneed-whole', 2)} and ${program('willneed-whole', 4)} without.`,
    `Half lies between the two, and no reading of a program with a disk for each device gives it at every k. ${DEVICES} containers on one disk of 2 GB/s would: read twice at k = 1 (App. A.1) and once from k = 2 on, and never at the same time. The paper says that devices have an SSD each.`,
  ];
}

/** The model of the sharpest print: 755 ms without prefetching, 674 ms with it. */
const LARGEST = 'Llama-3-70B';

function prefetchingRemarks(runs: FigureRuns): string[] {
  const printed = allOf(
    LARGE.map((model) => reduction(runs.printed4(model, 'prima.cpp-no-prefetch'), runs.printed4(model, 'prima.cpp'))),
  ) as number[];
  const run = runs.table4(LARGEST, 'willneed-whole');
  if (run === undefined) return [];
  const found = gainsOfPrefetching(runs) ?? [];
  const [without, with_] = [runs.printed4(LARGEST, 'prima.cpp-no-prefetch'), runs.printed4(LARGEST, 'prima.cpp')];
  const fastest = Math.max(...run.truth.devices.map(reloadRate));
  const hidden = (without - with_) * fastest;
  const share = leastShare(run);
  const overflow = LARGE.map((model) => {
    const seconds = runs.overflow4(model, 'none');
    return percent(reduction(seconds, runs.overflow4(model, 'populate')));
  });
  const list = (values: readonly number[]): string => values.map(percent).join(', ');
  return [
    `Prefetching gains ${list(printed)} at 30B, 45B, 60B, 65B and 70B as printed, and ${list(found)} here, where 5 to 25 % are aimed at: with the memory that devices have, a token of the 70B reads ${formatBytes(run.reloaded)} from disks, and even at 30B, whose 18 GB lie in VRAM, the paper prints a gain.`,
    `The ${formatSeconds(without - with_)} between ${formatSeconds(without)} and ${formatSeconds(with_)} at 70B are ${formatBytes(hidden)} on the fastest disk, if all of it is hidden. But a cyclic scan reloads all that a device maps as soon as that exceeds its memory: the least is ${share.layers} layers on ${share.device}, ${formatSeconds(share.seconds)}, which the ${formatSeconds(without)} exclude.`,
    `If the overflow alone is reloaded (Eq. 15) with the memory of Table 3, prefetching gains ${overflow.join(', ')}. No way to reclaim gives all five: each would need a few hundred MB that are reloaded for every token, whatever the model’s size.`,
  ];
}

/** The device whose layers on the CPU are read again in the least time. */
function leastShare({ plan, truth, model }: TableRun) {
  const shares = planShares(plan).flatMap(({ device: name, cpuLayers: layers }) => {
    const device = truth.devices.find((one) => one.name === name);
    if (device === undefined || layers === 0) return [];
    return [{ device: name, layers, seconds: (layers * model.layer.bytes) / reloadRate(device) }];
  });
  return shares.reduce((least, one) => (one.seconds < least.seconds ? one : least), {
    device: 'no device',
    layers: 0,
    seconds: Number.POSITIVE_INFINITY,
  });
}
