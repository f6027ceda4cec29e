import type { PublishedCell } from '../../../datasets/published.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import { enumerate, formatPercent, formatSeconds } from '../../../engine/input/format.ts';
import { type HelmCase, layersOnCpu, OUTPUT, PROMPT, planOf, predictedSeconds } from './answer.ts';
import { type HelmConstants, promptRateOf } from './constants.ts';
import { helmQuantity, quantityKey } from './quantities.ts';
import { FALLBACK_BANDWIDTH } from './systems.ts';

/** Statements of the thesis without a figure, with what follows here. */
interface HelmRemark {
  readonly title: string;
  readonly texts: readonly string[];
}

interface RemarkInputs {
  readonly cells: readonly PublishedCell[];
  readonly constants: HelmConstants;
  readonly caseOf: (cell: PublishedCell) => HelmCase | undefined;
  readonly clusterOf: (name: string) => Cluster;
}

/** HELM decoding a single request with a plan that runs: a case for each machine and model. */
interface Run {
  readonly one: HelmCase;
  readonly isSplit: boolean;
  /** Seconds of a token under other constants, or with another number of tokens in the KV cache. */
  readonly seconds: (constants: HelmConstants, context?: number) => number;
}

function decodingRuns({ cells, caseOf }: Pick<RemarkInputs, 'cells' | 'caseOf'>): Run[] {
  const runs = new Map<string, Run>();
  for (const cell of cells) {
    const quantity = cell.basis === 'measured' ? helmQuantity(cell) : undefined;
    if (quantity?.system !== 'helm' || quantity.kind !== 'token' || quantity.batch > 1) continue;
    const one = caseOf(cell);
    const planned = one && planOf(one);
    if (one === undefined || planned?.outcome !== 'runs') continue;
    const { plan } = planned;
    runs.set(quantityKey(quantity), {
      one,
      isSplit: layersOnCpu(plan) > 0,
      seconds: (constants, context) =>
        predictedSeconds(context === undefined ? one : { ...one, context }, plan, constants),
    });
  }
  return [...runs.values()];
}

/** Half of the rate at which CPUs read weights, as half of the threads have it until DRAM is saturated. */
const HALF = 0.5;

/** The i7's machine, and the FLOP/s at which it reads 3.7 GB/s of 16-bit weights: two operations for two bytes. */
const LAPTOP = 'helm-4060';
const FALLBACK_FLOPS = FALLBACK_BANDWIDTH;

/** Speed-up of HELM's kernel for prompts over the fallback's loop, if both are bound by arithmetic. */
function promptSpeedup({ constants, clusterOf }: RemarkInputs): number {
  const specified = clusterOf(LAPTOP).devices[0]?.cpu.flops.F32 ?? Number.NaN;
  return ((promptRateOf(constants, LAPTOP) ?? 1) * specified) / FALLBACK_FLOPS;
}

/** The kernel for prompts (4.1.5), the effect of threads (6.4.3) and the spread of a token's latency (Fig. 6.2). */
export function helmRemarks(inputs: RemarkInputs): HelmRemark[] {
  const { constants } = inputs;
  const runs = decodingRuns(inputs);
  const rates = Object.entries(constants.cpuBandwidth).map(([machine, rate]) => [machine, HALF * rate] as const);
  const halved = { ...constants, cpuBandwidth: Object.fromEntries(rates) };
  const loss = ({ seconds }: Run): number => 1 - seconds(constants) / seconds(halved);
  const [all, splits] = [false, true].map((isSplit) => runs.filter((run) => run.isSplit === isSplit).map(loss));
  const most = Math.max(...(all ?? []));
  const [least, largest] = [Math.min(...(splits ?? [])), Math.max(...(splits ?? []))];
  const spreads = runs
    .filter(({ isSplit }) => isSplit)
    .map(({ one: { quantity, model }, seconds }) => {
      const [first, last] = [PROMPT + 1, PROMPT + OUTPUT].map((context) => formatSeconds(seconds(constants, context)));
      return `${model.name} on ${quantity.machine.replace('helm-', '')} ${first} to ${last}`;
    });
  return [
    {
      title: '§4.1.5: 21 × over PyTorch’s fp16 GEMM',
      texts: [
        `The thesis states neither the rate of that path nor the machine, so the factor has no answer. The loop of PyTorch’s linear layers, at 3.7 GB/s and bound by its arithmetic, would take ${promptSpeedup(inputs).toFixed(0)} times as long for a prompt as the kernel does by the laptop’s TTFT: the GEMM path isn’t that loop.`,
      ],
    },
    {
      title: '§6.4.3: the number of threads',
      texts: [
        `No figure is printed. Threads have a negligible effect where all is on the GPU, says the text, and throughput grows with them where the CPU’s stage is large, until DRAM is saturated. With half of the rate at which the CPU reads weights, the ${all?.length} configurations in VRAM lose ${formatPercent(most)} at most, and the ${splits?.length} splits ${formatPercent(least)} to ${formatPercent(largest)} of their throughput.`,
      ],
    },
    {
      title: 'Fig. 6.2: distributions of a token’s latency',
      texts: [
        `The figure has curves, of which the text prints medians, compared above. Here one token differs from another by its KV cache alone, from the first to the last of ${OUTPUT}: ${enumerate(spreads)}. What else spreads the thesis’s curves isn’t modelled.`,
      ],
    },
  ];
}
