/** The points that prima.cpp's Algorithm 1 leaves open or gets wrong, each with a name. */
export interface HaldaOptions {
  /** The scheduler that plans name. */
  readonly name: 'halda' | 'halda-repaired' | 'halda-program';
  /**
   * Rows that keep M1–M3 overloaded (Eqs. 27–29). `strict`: as written, a device that starts overloaded stays so.
   * `overflow-variable`: no such rows; a variable counts the bytes beyond the RAM, so that such a device may also fit.
   */
  readonly overloadRows: 'strict' | 'overflow-variable';
  /**
   * Rounding of the initial windows. `nearest`: may give 0, and a sum other than L; `at-least-one`: every device gets a
   * layer; `adds-up`: as `at-least-one`, and what is missing from L or beyond it is the device's with the most or least
   * memory.
   */
  readonly initialRounding: 'nearest' | 'at-least-one' | 'adds-up';
  /** Line 1. `none`: as written, n starts at 0; `windows`: n starts at w on devices with a GPU. */
  readonly initialGpuLayers: 'none' | 'windows';
  /**
   * Seconds in the objective. `all`: α, β and ξ as in the paper; `arithmetic`: computing and copies of the KV cache only,
   * so that reading memory, copies to a GPU and the network cost nothing (ξ = 0).
   */
  readonly coefficients: 'all' | 'arithmetic';
  /** The head's cost per layer is divided by it. */
  readonly headPriority: number;
  /** Line 15. `skips-update`: `continue` leaves w and n as they were; `updates`: the best solution is taken first. */
  readonly calibration: 'skips-update' | 'updates';
  /**
   * Line 13. `another`: as written, a GPU with free VRAM counts only next to another device that is overloaded; `any`:
   * the device with the free VRAM may itself be the overloaded one, as in the paper's example (3.3). By the program's
   * source, a device without a GPU counts if its set isn't M4, and one with a GPU if it has layers on its CPU: in April
   * 2025 only with its VRAM full (`full-gpu`), in July always (`spilling-gpu`).
   */
  readonly overloadedDevice: 'another' | 'any' | 'full-gpu' | 'spilling-gpu';
  /** Line 13 isn't looked at while a device has one layer and none on a GPU: that device is to be removed first. */
  readonly waitsForRemoval: boolean;
  /** The only k that is tried (`-k` of the program); all divisors of L unless given. */
  readonly rounds?: number;
  /**
   * No round has a feasible program. `stop`: end with the best so far, if any, as the program rolls back; `force`: move the slowest disk of M1–M3
   * into M4, as calibration does, and go on.
   */
  readonly infeasible: 'stop' | 'force';
  /**
   * Comparison of solutions between iterations: with κ, which depends on the sets, or without; `last`: none, the
   * solution of the last feasible iteration stands.
   */
  readonly comparison: 'with-kappa' | 'without-kappa' | 'last';
  /**
   * KV cache and buffers, which no OS can reclaim. `reloaded`: as written, Eqs. 15–17 reload them like weights;
   * `pinned`: a row keeps them within the RAM, so that the plan can run.
   */
  readonly kvCache: 'reloaded' | 'pinned';
  /**
   * Devices with a single layer. `one-layer`: all are removed at once, and the rest is planned anew; `safe`: one at a
   * time, and only if the time does not grow; `none`.
   */
  readonly removal: 'one-layer' | 'safe' | 'none';
  /** More devices than layers. `fail`: there is no plan; `drop`: the devices with least memory are left out. */
  readonly surplusDevices: 'fail' | 'drop';
  /** s_threshold: disks slower than this never reload (Case 4); bytes per second. */
  readonly slowDisk: number;
}

/**
 * Algorithm 1 as it stands in the paper. The threshold of slow disks is the released program's, 0.1 GB/s; the paper
 * gives none.
 */
export const ALGORITHM_1: HaldaOptions = {
  name: 'halda',
  overloadRows: 'strict',
  initialRounding: 'nearest',
  initialGpuLayers: 'none',
  coefficients: 'all',
  headPriority: 1,
  calibration: 'skips-update',
  overloadedDevice: 'another',
  waitsForRemoval: false,
  infeasible: 'stop',
  comparison: 'with-kappa',
  kvCache: 'reloaded',
  removal: 'one-layer',
  surplusDevices: 'fail',
  slowDisk: 0.1e9,
};

/** Algorithm 1 with its defects repaired; it still searches over sets, without a guarantee. */
export const ALGORITHM_1_REPAIRED: HaldaOptions = {
  ...ALGORITHM_1,
  name: 'halda-repaired',
  overloadRows: 'overflow-variable',
  initialRounding: 'at-least-one',
  calibration: 'updates',
  overloadedDevice: 'any',
  infeasible: 'force',
  kvCache: 'pinned',
  removal: 'safe',
  surplusDevices: 'drop',
};

/**
 * Halda in prima.cpp's program of April 2025 (Lizonghang/prima.cpp, commit 6d13836c, assign_layers_to_device), with which
 * the paper's first version was measured: the objective has arithmetic only, solutions of earlier iterations are
 * forgotten, and every device keeps a layer.
 */
export const PRIMA_CPP_APRIL_2025: HaldaOptions = {
  ...ALGORITHM_1,
  name: 'halda-program',
  initialRounding: 'adds-up',
  coefficients: 'arithmetic',
  overloadedDevice: 'full-gpu',
  comparison: 'last',
  removal: 'none',
};

/**
 * Halda in prima.cpp's program of July 2025 (commit bdf9d8e7), which is that of its newest release: n starts at w, a GPU
 * with free memory may itself be the one that spills, no device is forced while one is to be removed, the head's layers
 * are preferred by 1 %, and devices with a single layer are removed.
 */
export const PRIMA_CPP_JULY_2025: HaldaOptions = {
  ...PRIMA_CPP_APRIL_2025,
  initialGpuLayers: 'windows',
  headPriority: 1.01,
  overloadedDevice: 'spilling-gpu',
  waitsForRemoval: true,
  removal: 'one-layer',
};
