import type { CpuMeasures } from './cpu-measures.ts';
import type { DiskMeasures } from './disk.ts';
import type { MemoryFacts } from './memory/read-memory.ts';
import type { Sample } from './sample.ts';

/** What `hearth profile` finds out about a machine. */
export interface MachineProfile {
  readonly name: string;
  readonly memory: MemoryFacts;
  readonly cpu: CpuMeasures;
  /** Bytes per second of reading RAM and doing nothing else, with one thread and with all. */
  readonly reading: { readonly one: Sample; readonly all: Sample };
  /** Last-level cache: its bytes, and bytes per second of reading a part of it; undefined where there is none. */
  readonly cache: { readonly bytes: number; readonly rate: Sample } | undefined;
  readonly disk: DiskMeasures;
  /** By which kernels, for people: `avx512`. */
  readonly instructionSet: string;
}
