/** Where a cell stands in the thesis. */
export interface CellPlace {
  readonly table: string;
  readonly row: string;
  readonly column: string;
}

/** A constant of HelmConstants, the machine it is of, the cells that it is fitted to, and why these. */
export interface FittedCell {
  readonly constant: 'gpuEfficiency' | 'dispatch' | 'cpuBandwidth' | 'promptRate' | 'attentionShare' | 'copyShare';
  readonly machine: string;
  readonly cells: readonly CellPlace[];
  readonly reason: string;
}

const place = (table: string, row: string, column: string): CellPlace => ({ table, row, column });

/** Constants are fitted in this order: each needs those before it. */
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
    constant: 'copyShare',
    machine: '',
    cells: [place('§6.3', 'L40S / Qwen3-32B', 'Accelerate p50 latency')],
    reason: 'the most bytes that are copied for a token, printed in whole milliseconds',
  },
];
