import type { Kernels } from '../engine/kernels/kernels.ts';
import { type KernelOptions, openKernels } from '../engine/kernels/open-kernels.ts';

/** Kernels of this machine that are opened when they are first asked for: a ring opens its own, and drafts seldom run. */
export interface KernelsOnDemand {
  /** @throws InputError as openKernels does */
  get(): Kernels;
  close(): void;
}

export function kernelsOnDemand(options: KernelOptions): KernelsOnDemand {
  let opened: Kernels | undefined;
  return {
    get() {
      opened ??= openKernels(options);
      return opened;
    },
    close: () => opened?.close(),
  };
}
