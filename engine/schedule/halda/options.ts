/** The points that prima.cpp's Algorithm 1 leaves open or gets wrong, each with a name. */
export interface HaldaOptions {
  /**
   * Rows that keep M1–M3 overloaded (Eqs. 27–29). `strict`: as written, a device that starts overloaded stays so.
   * `overflow-variable`: no such rows; a variable counts the bytes beyond the RAM, so that such a device may also fit.
   */
  readonly overloadRows: 'strict' | 'overflow-variable';
  /** Rounding of the initial windows. `nearest`: may give 0; `at-least-one`: every device gets a layer. */
  readonly initialRounding: 'nearest' | 'at-least-one';
  /** Line 15. `skips-update`: `continue` leaves w and n as they were; `updates`: the best solution is taken first. */
  readonly calibration: 'skips-update' | 'updates';
  /**
   * Line 13. `another`: as written, a GPU with free VRAM counts only beside another device that is overloaded; `any`:
   * the device with the free VRAM may itself be the overloaded one, as in the paper's example (3.3).
   */
  readonly overloadedDevice: 'another' | 'any';
  /**
   * No round has a feasible program. `stop`: end with the best so far, if any; `force`: move the slowest disk of M1–M3
   * into M4, as calibration does, and go on.
   */
  readonly infeasible: 'stop' | 'force';
  /** Comparison of solutions between iterations: with κ, which depends on the sets, or without. */
  readonly comparison: 'with-kappa' | 'without-kappa';
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
  overloadRows: 'strict',
  initialRounding: 'nearest',
  calibration: 'skips-update',
  overloadedDevice: 'another',
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
  overloadRows: 'overflow-variable',
  initialRounding: 'at-least-one',
  calibration: 'updates',
  overloadedDevice: 'any',
  infeasible: 'force',
  kvCache: 'pinned',
  removal: 'safe',
  surplusDevices: 'drop',
};
