import type { PublishedCell } from '../../../datasets/published.ts';
import { formatPercent, threeDigits } from '../../../engine/input/format.ts';
import type { Conflict } from '../comparison.ts';
import type { HelmConstants } from './constants.ts';
import type { ContextComparison } from './contexts.ts';
import { helmSystemName, inUnit, printedRange, quantityKey, secondsOf } from './quantities.ts';
import { rowFloors, type Scaling } from './ratios.ts';
import type { HelmComparison } from './rules.ts';
import { commonSeconds, limitSeconds } from './time-limit.ts';

/** Quantities that the thesis prints with different values, and statements that its own numbers exclude. */
export function helmConflicts(inputs: ConflictInputs): Conflict[] {
  return [
    ...printedTwice(inputs.comparisons),
    ...statements(inputs),
    ...limitConflicts(inputs),
    ...fallbackConflict(inputs.comparisons),
  ];
}

/** Data from which the contradictions are computed. */
export interface ConflictInputs {
  readonly cells: readonly PublishedCell[];
  readonly comparisons: readonly HelmComparison[];
  readonly contexts: readonly ContextComparison[];
  readonly scalings: readonly Scaling[];
  readonly constants: HelmConstants;
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

function statements({ scalings, constants }: ConflictInputs): Conflict[] {
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
      here: `${dispatch.join(' and ')} ms on the servers, during the GPU’s work and not after it`,
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
        'the cache is offloaded to RAM (4.2.2); by bytes, the 3090 has 0.49 GB left after the 32B’s part, ten pages of 512 tokens, and the installed 24 GiB are 2.3 GB more than the plan counts on',
      here: 'by bytes: such batches run. One statement, behind nine cells of Table 6.2',
    },
    {
      subject: 'DeepSpeed ZeRO-Inference',
      printed: 'CPU offload enabled (5.3)',
      against: 'all weights have to lie in VRAM (6.1), and 42 ms a token leave no time to stream 15 GB',
      here: 'all in VRAM',
    },
    {
      subject: 'RAM that is free',
      printed: '16, 125 and 60 GB (5.1)',
      against:
        'HELM’s longest contexts, which 6.2 lays to the RAM, leave 10.2 to 11.4 GB on the laptop (8B), 43.3 to 44.4 GB on the 3090’s machine (32B) and 20.3 to 22.5 GB on the L40S’s (32B by the text; by Fig. 6.1 at least 26.8 GB); the 4B on the laptop would ask for 2.7 to 3.9 GB, which its 8B exceeds by itself',
      here: '11.0 and 43.9 GB, fitted to one limit each; the second also fails Accelerate’s 32B (46.0 GB with the room that it keeps back), as printed. L40S: 58 GiB',
    },
    {
      subject: 'HELM’s TTFT with all in VRAM',
      printed: '81, 83 and 90 ms on the L40S',
      against:
        'a prompt of 128 tokens takes the GPU less than dispatching its blocks, as Accelerate’s 45, 46 and 50 ms show; on the 3090 HELM takes 49 and 50 ms',
      here: `a time in addition to the prompt for each machine, ${Object.values(constants.requestStart)
        .map((seconds) => (1000 * seconds).toFixed(1))
        .join(' and ')} ms, fitted to its 8B; its cause is not stated`,
    },
    {
      subject: 'AVX2 kernel on the laptop (4.1.5)',
      printed: '50 GB/s',
      against: '196 ms for 20 blocks of 386 MB are 39 GB/s, and 45 GB/s are called the ceiling',
      here: `${((constants.cpuBandwidth['helm-4060'] ?? 0) / 1e9).toFixed(1)} GB/s, fitted to the 196 ms`,
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
      here: 'the fallback’s one stated rate, that of the laptop',
    },
    {
      subject: 'AVX2 kernel off, 4B and 8B on the 3090',
      printed: '−24.0 and −9.6 %',
      against: 'all on the GPU: the CPU’s kernel has nothing to do there, as on the L40S (−0.4 and ±0 %)',
      here: 'no change',
    },
  ];
}

/** The models' own limit of output tokens (6.2). */
const LONGEST = 32_768;

/** The baselines' limits of Fig. 6.1, which memory doesn't give. */
function limitConflicts({ cells, contexts }: ConflictInputs): Conflict[] {
  const limits = limitSeconds(cells, LONGEST);
  const common = commonSeconds(limits);
  const list = limits.map(({ cell }) => contexts.find((one) => one.cell === cell)?.predicted);
  const beyond = cells.filter(
    ({ metric, system, value, basis }) =>
      metric === 'context' && basis === 'measured' && system === 'vllm' && value === LONGEST,
  );
  return [
    {
      subject: `Longest outputs of Accelerate and vLLM below the models’ own limit (Fig. 6.1, ${limits.length} cells)`,
      printed: `${limits.map(({ cell }) => cell.value).join(', ')} tokens, for want of memory (6.2)`,
      against:
        common === undefined
          ? 'no duration gives them all'
          : `each is the longest power of two that the system decodes in ${common[0].toFixed(0)} to ${common[1].toFixed(0)} s by its throughput of Table 6.1: a time limit of three minutes gives all ${limits.length}, on two machines. vLLM’s ${beyond.length} on the L40S reach ${LONGEST}, which takes it 7 to 21 minutes`,
      here: `${list.join(', ')} tokens by memory; the time limit was found after the cells were seen, and is in no answer`,
    },
  ];
}

/** Bytes per second of the CPU's fallback that two cells of one machine imply. */
function fallbackConflict(comparisons: readonly HelmComparison[]): Conflict[] {
  const cellOf = (model: string, system: string): HelmComparison | undefined =>
    comparisons.find(
      ({ cell, detail: { quantity } }) =>
        cell.table === 'Table 6.3' &&
        quantity.machine === 'helm-3090' &&
        quantity.model === model &&
        quantity.system === system,
    );
  const [middle, large] = ['Qwen3-14B', 'Qwen3-32B'].map((model) => cellOf(model, 'helm-no-avx2'));
  if (middle === undefined || large === undefined) return [];
  const text = ({ cell, predicted }: HelmComparison): string =>
    `${cell.value} for ${typeof predicted === 'number' ? inUnit(secondsOf(predicted, cell.unit, 1), cell.unit, 1).toFixed(2) : predicted}`;
  return [
    {
      subject: 'AVX2 kernel off on the 3090’s machine (Table 6.3)',
      printed: '2.3 tok/s (14B) and 0.1 tok/s (32B)',
      against:
        'in addition to some 45 ms of the GPU, the first leaves 390 ms for 7 blocks of 661 MB, 11.9 GB/s; the second, at most 0.15 tok/s, leaves 6.6 s or more for 42 blocks of 977 MB, at most 6.2 GB/s',
      here: `one rate, as stated: ${text(middle)} and ${text(large)} tok/s`,
    },
  ];
}
