import { formatPercent, threeDigits } from '../../../engine/input/format.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import type { Conflict } from '../comparison.ts';
import { type HelmCase, layersOnCpu } from './answer.ts';
import type { HelmConstants } from './constants.ts';
import { helmSystemName, printedRange, quantityKey, secondsOf } from './quantities.ts';
import { rowFloors, type Scaling } from './ratios.ts';
import type { HelmComparison } from './rules.ts';

/** Quantities that the thesis prints with different values, and statements that its own numbers exclude. */
export function helmConflicts(
  comparisons: readonly HelmComparison[],
  scalings: readonly Scaling[],
  constants: HelmConstants,
  offloading: NeedGrowth,
): Conflict[] {
  return [...printedTwice(comparisons), ...statements(scalings, constants, offloading)];
}

function printedTwice(comparisons: readonly HelmComparison[]): Conflict[] {
  const quantities = new Map<string, HelmComparison[]>();
  for (const one of comparisons) {
    const key = quantityKey(one.detail.quantity);
    quantities.set(key, [...(quantities.get(key) ?? []), one]);
  }
  return [...quantities.values()].flatMap((prints): Conflict[] => {
    const [first] = prints;
    if (first === undefined || !isContradicted(prints)) return [];
    const { cell, predicted } = first;
    const { quantity } = first.detail;
    const different = prints.filter(
      (one, index) => prints.findIndex(({ cell: { value } }) => value === one.cell.value) === index,
    );
    const [one = '', ...others] = different.map(
      (print) => `${print.cell.value} ${print.cell.unit} (${print.cell.table})`,
    );
    return [
      {
        subject: `${helmSystemName(quantity.system)}, ${cell.row.replace(' / ', ', ')}`,
        printed: one,
        against: others.join(', '),
        here: typeof predicted === 'number' ? `${threeDigits(predicted)} ${cell.unit}` : 'not modelled',
      },
    ];
  });
}

/** Whether no value rounds to all of the prints. */
function isContradicted(prints: readonly HelmComparison[]): boolean {
  const ranges = prints.flatMap(({ cell, detail: { quantity } }): [number, number][] => {
    const [least, most] = printedRange(cell, [cell]) ?? [];
    if (least === undefined || most === undefined) return [];
    const ends = [least, most].map((end) => secondsOf(end, cell.unit, quantity.batch));
    return [[Math.min(...ends), Math.max(...ends)]];
  });
  return Math.max(...ranges.map(([least]) => least)) > Math.min(...ranges.map(([, most]) => most));
}

function statements(scalings: readonly Scaling[], constants: HelmConstants, offloading: NeedGrowth): Conflict[] {
  const servers = (['helm-3090', 'helm-l40s'] as const).map((machine) =>
    scalings
      .filter(({ cell }) => cell.cluster === machine && cell.model !== 'Qwen3-14B')
      .map(({ published }) => Number(published).toFixed(2))
      .join(', '),
  );
  const largest = scalings.filter(({ cell }) => cell.model === 'Qwen3-14B');
  const floor = rowFloors(largest)[0]?.floor ?? 0;
  const worst = Math.max(...largest.map(({ predictedError = 0 }) => Math.abs(predictedError)));
  const dispatch = Object.values(constants.dispatch).map((seconds) => (1000 * seconds).toFixed(2));
  return [
    {
      subject: 'δ̄ (6.4.4), time per block that no roofline sees',
      printed: '0.79, 0.14 and 1.64 ms, added to T_plan',
      against: '1.64 ms × 36 blocks are 59 ms, where the whole token takes 36.9 ms on the L40S',
      here: `${dispatch.join(' and ')} ms on the servers, beside the GPU’s work and not after it`,
    },
    {
      subject: 'Throughput of batches of 2, 4 and 8 over that of one request, 4B and 8B (Table 6.2)',
      printed: `RTX 3090: ${servers[0]}`,
      against: `L40S: ${servers[1]}, the same to three digits on another GPU and CPU`,
      here: 'one law for both machines, fitted on the L40S’s 8B alone',
    },
    {
      subject: 'Batches of the 14B on the L40S (Table 6.2)',
      printed:
        'steps of 49.8, 79.7, 99.8 and 172 ms: the second request adds 30 ms, the next two 10 ms each, the last four 18 ms each',
      against:
        'weights are applied once for all (4.1.4), and what each request repeats never makes the next one cheaper',
      here: `with such a law, ${formatPercent(floor)} at best on one of the three; here ${formatPercent(worst)}`,
    },
    {
      subject: 'Batches beyond 1 on splits (6.4.1)',
      printed: 'no headroom in VRAM for a second request’s KV cache',
      against:
        'the cache is offloaded to RAM (4.2.2); by bytes, the 3090 has 0.49 GB left beside the 32B’s part, ten pages of 512 tokens',
      here: 'taken at its word: a split fills the VRAM',
    },
    {
      subject: 'DeepSpeed ZeRO-Inference',
      printed: 'CPU offload enabled (5.3)',
      against: 'all weights have to lie in VRAM (6.1), and 42 ms a token leave no time to stream 15 GB',
      here: 'all in VRAM',
    },
    {
      subject: 'Accelerate with the 32B on the 3090',
      printed: '× (Table 6.1)',
      against: `from the 8B on the RTX 4060, which runs at 0.8 tok/s, all that a program may need of RAM (offloaded layers, the whole model, a buffer for one) grows ${threeDigits(offloading.needs)} times at most, RAM itself ${threeDigits(offloading.ram)} times: what fits there fits here, whatever it needs of each`,
      here: 'runs: no rule of memory tells the two apart, and the thesis states no other',
    },
    {
      subject: 'Accelerate on the RTX 4060',
      printed: 'loads only the 4B (6.1)',
      against: 'runs the 8B at 0.8 tok/s (Table 6.1)',
      here: 'runs both',
    },
    {
      subject: 'Rows of the 14B and 32B in Table 6.2',
      printed: 'under the RTX 4060',
      against: 'which runs neither (Table 6.1); 6.1 and 1.2 tok/s are those of the 3090',
      here: 'taken as the 3090’s',
    },
    {
      subject: 'AVX2 kernel off, 14B on the 3090',
      printed: '−17.9 % (6.4.2)',
      against: '−62.3 % (Table 6.3), which follows from its own throughputs',
      here: 'the fallback’s rate is stated for the laptop alone',
    },
    {
      subject: 'AVX2 kernel off, 4B and 8B on the 3090',
      printed: '−24.0 and −9.6 %',
      against: 'all on the GPU: the CPU’s kernel has nothing to do there, as on the L40S (−0.4 and ±0 %)',
      here: 'no change',
    },
  ];
}

/** Bytes of RAM that a program which offloads layers may need, and bytes that the machine has. */
export interface HostNeeds {
  /** The layers outside VRAM. */
  readonly offloaded: number;
  /** The whole model, in case it passes through RAM. */
  readonly model: number;
  /** One layer, in case there is a buffer for it. */
  readonly layer: number;
  readonly ram: number;
}

/** The needs of a case under its plan, beside the installed RAM. */
export function hostNeeds({ cluster, model }: Pick<HelmCase, 'cluster' | 'model'>, plan: Plan): HostNeeds {
  const streamed = plan.stages.reduce((sum, { streamed: copied, from, to }) => sum + (copied ? to - from : 0), 0);
  return {
    offloaded: (streamed + layersOnCpu(plan)) * model.layer.bytes,
    model: model.bytes,
    layer: model.layer.bytes,
    ram: cluster.devices[0]?.memory.total ?? 0,
  };
}

/** The factors by which needs and RAM grow from one case to another. */
export interface NeedGrowth {
  /** The largest factor of any need. */
  readonly needs: number;
  readonly ram: number;
}

/**
 * Where RAM grows by more than every need, no rule of memory lets the first case run and the second fail: if any sum of
 * the needs, each any number of times, and a fixed amount fits a share of the first RAM, it fits that share of the
 * second.
 */
export function needGrowth(from: HostNeeds, to: HostNeeds): NeedGrowth {
  const needs = Math.max(to.offloaded / from.offloaded, to.model / from.model, to.layer / from.layer);
  return { needs, ram: to.ram / from.ram };
}
