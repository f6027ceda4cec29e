/** Query heads of the model whose blocks' dispatch is fitted to, Qwen3-8B. */
export const FITTED_HEADS = 32;

/** What no paper, specification or table states of HELM's machines and programs; every one is fitted to one cell. */
export interface HelmConstants {
  /** η_m: share of its specified bandwidth at which a server's GPU reads weights, both servers alike. */
  readonly gpuEfficiency: number;
  /** Seconds per block that vLLM adds to reading, on any machine. */
  readonly vllmBlock: number;
  /** Seconds to dispatch a block's kernels from Python, by machine: what hides the GPU's work where that is shorter. */
  readonly dispatch: Readonly<Record<string, number>>;
  /** Bytes per second at which the CPU reads its blocks' weights in decoding, by machine. */
  readonly cpuBandwidth: Readonly<Record<string, number>>;
  /** FLOP/s of the CPU on a prompt over the FP32 rate that its file states, by machine. */
  readonly promptRate: Readonly<Record<string, number>>;
  /** Share of a block's dispatch that is the attention of one request, where a request has FITTED_HEADS heads. */
  readonly attentionShare: number;
  /** Share of the host link's rate that Accelerate's copies of layers reach. */
  readonly copyShare: number;
}

/** The laptop has no cell that identifies its dispatch: the mean of the two servers'. */
export function dispatchOf({ dispatch }: HelmConstants, machine: string): number {
  const own = dispatch[machine];
  if (own !== undefined) return own;
  const known = Object.values(dispatch);
  return known.reduce((sum, seconds) => sum + seconds, 0) / Math.max(1, known.length);
}

/** The L40S's only split is left to be predicted: its EPYC reaches the part of its rate that the other server's does. */
export function promptRateOf({ promptRate }: HelmConstants, machine: string): number | undefined {
  return promptRate[machine] ?? promptRate['helm-3090'];
}
