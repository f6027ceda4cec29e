import type { PublishedCell } from '../../../datasets/published.ts';

/** Query heads of Qwen3-8B, the model to whose cells dispatch is fitted. */
export const FITTED_HEADS = 32;

/** Constants of HELM's machines and programs that no paper, specification or table states; each is fitted to its cells. */
export interface HelmConstants {
  /** η_m: share of its specified bandwidth at which a server's GPU reads weights; one for both servers. */
  readonly gpuEfficiency: number;
  /** Seconds that vLLM takes per block apart from reading, on any machine. */
  readonly vllmBlock: number;
  /** Seconds to dispatch a block's kernels from Python, by machine; the GPU's work hides behind it where it is shorter. */
  readonly dispatch: Readonly<Record<string, number>>;
  /** Bytes per second at which the CPU reads its blocks' weights in decoding, by machine. */
  readonly cpuBandwidth: Readonly<Record<string, number>>;
  /** FLOP/s of the CPU on a prompt as a multiple of the FP32 rate in its file, by machine. */
  readonly promptRate: Readonly<Record<string, number>>;
  /** Share of a block's dispatch that goes to the attention of one request with FITTED_HEADS heads. */
  readonly attentionShare: number;
  /** Bytes per second at which a CPU copies pageable weights to the driver's pinned buffer; one for all machines. */
  readonly staging: number;
  /** Dispatch of a GPU's block with a DynamicCache over its dispatch with HELM's own cache. */
  readonly dynamicCache: number;
  /** Seconds that HELM takes for a request in addition to its prompt, by machine. */
  readonly requestStart: Readonly<Record<string, number>>;
}

/** A machine's dispatch; for the laptop, whose cells don't identify it, the mean of the two servers'. */
export function dispatchOf({ dispatch }: HelmConstants, machine: string): number {
  const own = dispatch[machine];
  if (own !== undefined) return own;
  const known = Object.values(dispatch);
  return known.reduce((sum, seconds) => sum + seconds, 0) / Math.max(1, known.length);
}

/** A machine's rate on prompts; the L40S's only split is held out, so its EPYC takes the multiple of the other server's. */
export function promptRateOf({ promptRate }: HelmConstants, machine: string): number | undefined {
  return promptRate[machine] ?? promptRate['helm-3090'];
}

/** HELM's seconds for a request in addition to its prompt; 0 on the laptop, where no cell shows them. */
export function requestStartOf({ requestStart }: HelmConstants, machine: string): number {
  return requestStart[machine] ?? 0;
}

/** Place of a cell in the thesis. */
export type CellPlace = Pick<PublishedCell, 'table' | 'row' | 'column'>;

/** A constant of HelmConstants, its machine ('' for all), the cells that it is fitted to, and why these. */
export interface FittedCell {
  readonly constant:
    | 'gpuEfficiency'
    | 'dispatch'
    | 'cpuBandwidth'
    | 'promptRate'
    | 'attentionShare'
    | 'staging'
    | 'dynamicCache'
    | 'requestStart';
  readonly machine: string;
  readonly cells: readonly CellPlace[];
  readonly reason: string;
}

const place = (table: string, row: string, column: string): CellPlace => ({ table, row, column });

/** The constants in the order in which they are fitted: each needs those before it. */
export const FITTED_CELLS: readonly FittedCell[] = [
  {
    constant: 'gpuEfficiency',
    machine: '',
    cells: [place('Table 6.1', 'L40S / Qwen3-4B', 'vLLM tok/s'), place('Table 6.1', 'L40S / Qwen3-14B', 'vLLM tok/s')],
    reason:
      'the smallest and the largest model of one machine tell the share of the bandwidth from the time per block; three cells are left, two of them on the other server',
  },
  ...(['3090', 'L40S'] as const).map(
    (machine): FittedCell => ({
      constant: 'dispatch',
      machine: `helm-${machine.toLowerCase()}`,
      cells: [place('Table 6.1', `${machine} / Qwen3-8B`, 'HELM tok/s')],
      reason:
        machine === '3090'
          ? 'of the models all on the GPU the one whose prints disagree least; three tables print this figure'
          : 'the same model as on the other server',
    }),
  ),
  {
    constant: 'attentionShare',
    machine: '',
    cells: [place('Table 6.2', 'L40S / Qwen3-8B', 'B=8')],
    reason: 'the model and machine of which a single request’s dispatch is known, with the largest batch',
  },
  {
    constant: 'dynamicCache',
    machine: '',
    cells: [place('Table 6.4', 'L40S / Qwen3-8B', 'no KV offload')],
    reason: 'the model and machine of which a block’s dispatch is known',
  },
  ...(['3090', 'L40S'] as const).map(
    (machine): FittedCell => ({
      constant: 'requestStart',
      machine: `helm-${machine.toLowerCase()}`,
      cells: [place('Table 6.1', `${machine} / Qwen3-8B`, 'HELM TTFT')],
      reason:
        'the model of which a block’s dispatch is known; the thesis has no word on what HELM does before a prompt',
    }),
  ),
  {
    constant: 'cpuBandwidth',
    machine: 'helm-4060',
    cells: [place('§4.1.5', 'running example', 'CPU stage with the kernel')],
    reason: 'the one measurement of a CPU’s part by itself, so that both latencies of the laptop are left',
  },
  ...(['3090', 'L40S'] as const).map(
    (machine): FittedCell => ({
      constant: 'cpuBandwidth',
      machine: `helm-${machine.toLowerCase()}`,
      cells: [place('Table 6.1', `${machine} / Qwen3-32B`, 'HELM tok/s')],
      reason: 'the CPU’s blocks take more than nine tenths of this token, and all tables print the same',
    }),
  ),
  ...(
    [
      ['4060', 'Qwen3-8B'],
      ['3090', 'Qwen3-32B'],
    ] as const
  ).map(
    ([machine, model]): FittedCell => ({
      constant: 'promptRate',
      machine: `helm-${machine.toLowerCase()}`,
      cells: [place('Table 6.1', `${machine} / ${model}`, 'HELM TTFT')],
      reason:
        machine === '3090'
          ? 'the split with the most blocks on the CPU; the L40S’s CPU, of the same family, reaches the same part of its rate'
          : 'the split with the most blocks on the CPU',
    }),
  ),
  {
    constant: 'staging',
    machine: '',
    cells: [place('§6.3', 'L40S / Qwen3-32B', 'Accelerate p50 latency')],
    reason: 'the most bytes that are copied for a token, printed in whole milliseconds',
  },
];
