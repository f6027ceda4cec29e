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
  /** FLOP/s of the CPU's blocks on a prompt, by machine. */
  readonly promptFlops: Readonly<Record<string, number>>;
  /** Share of a block's dispatch that every further request of a batch repeats. */
  readonly perRequest: number;
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
