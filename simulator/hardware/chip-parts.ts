import type { Simulation } from '../event-loop/simulation.ts';
import type { Recorder } from '../recorder.ts';
import type { Noise } from './noise.ts';
import type { SharedMemory } from './shared-memory.ts';

/** What the parts of a chip have in common in a run. */
export interface ChipParts {
  readonly simulation: Simulation;
  readonly recorder: Recorder;
  readonly memory: SharedMemory;
  readonly noise: Noise;
  readonly deviceName: string;
}
