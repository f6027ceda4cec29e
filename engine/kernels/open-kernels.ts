import { availableParallelism } from 'node:os';
import { InputError, suggestion } from '../input/input-error.ts';
import type { Kernels } from './kernels.ts';
import { ADDON_REMEDY, loadAddon } from './native/addon.ts';
import { nativeKernels } from './native/native-kernels.ts';
import { referenceKernels } from './reference/reference-kernels.ts';

/** The kernels to use, and their number of threads. */
export interface KernelOptions {
  /** "auto" (the default) is native if the addon was built, otherwise reference. */
  readonly implementation?: 'auto' | 'native' | 'reference';
  /** Threads of the native kernels. Default: one per processor. */
  readonly threads?: number;
  /**
   * For the native kernels: "auto" (the default: the fastest available), "amx", "amxint8", "avx512bf16", "avx512",
   * "avxvnni", "avx2", "neon", "scalar".
   */
  readonly instructionSet?: string;
  /** For the native kernels: whether each thread is bound to a processor. Default: false, as others may need it. */
  readonly pin?: boolean;
  /**
   * For the native kernels: with quantized weights, activations are rounded to 15 bits instead of 8, and with weights in
   * BF16 not at all, instead of to bfloat16 where many tokens are multiplied; many tokens attend in single precision
   * instead of 16 bits. Default: false.
   */
  readonly exact?: boolean;
  /**
   * For the native kernels: with weights in F16, both factors are rounded to bfloat16 where many tokens are multiplied
   * and the processor has such products. Default: false.
   */
  readonly fast?: boolean;
  /** Called with a warning if "auto" finds no addon. Default: writes it to stderr. */
  readonly warn?: (line: string) => void;
}

/** @throws InputError if the implementation or instruction set isn't available, or `threads` is out of range */
export function openKernels(options: KernelOptions = {}): Kernels {
  const { implementation = 'auto', threads = availableParallelism(), instructionSet = 'auto', pin = false } = options;
  const { exact = false, fast = false, warn = (line) => process.stderr.write(`${line}\n`) } = options;
  if (implementation === 'reference') return referenceKernels();
  const addon = loadAddon();
  if (typeof addon === 'string') {
    if (implementation !== 'auto') throw new InputError('native kernels', `not available (${addon}); ${ADDON_REMEDY}`);
    warn(`native kernels: not available, so this runs on the reference kernels, slowly; ${ADDON_REMEDY}`);
    return referenceKernels();
  }
  if (!(Number.isInteger(threads) && threads >= 1 && threads <= 1024)) {
    throw new InputError('threads', `${threads} is not a whole number from 1 to 1024`);
  }
  const available = ['auto', ...addon.instructionSets()];
  if (!available.includes(instructionSet)) {
    throw new InputError(
      'instruction set',
      `"${instructionSet}" is not available here${suggestion(instructionSet, available)}`,
    );
  }
  return nativeKernels(addon, { threads, instructionSet, pin, exact, fast });
}
