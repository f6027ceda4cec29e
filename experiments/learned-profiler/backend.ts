import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { createBackendTimes } from '../../engine/profile/backend-times.ts';
import type { LatencySample } from '../../engine/profile/predicted/latency-model.ts';
import { type LearnedLatency, learnLatency } from '../../engine/profile/predicted/learn-latency.ts';
import { sampleShapes } from '../../engine/profile/predicted/sample-shapes.ts';
import { type Staircase, staircase } from './staircase.ts';

/** The kernels of this machine that can be profiled. */
export const BACKENDS = ['native', 'reference'] as const;
export type Backend = (typeof BACKENDS)[number];

/** The learned times of this machine's own kernels. */
export interface BackendStudy {
  readonly backend: Backend;
  readonly instructionSet: string;
  readonly stages: Staircase;
  readonly learned: LearnedLatency;
}

/** Small enough that a run of the slow reference takes milliseconds. */
const SPACES = {
  native: { rows: [64, 2048], rowAlignment: 32, columns: [256, 512, 1024, 2048], tokens: { from: 1, to: 64 } },
  reference: { rows: [32, 128], rowAlignment: 32, columns: [64, 128], tokens: { from: 1, to: 16 } },
} as const;

/** Profiles this machine's kernels on one thread, and learns from it. @throws InputError if they are missing */
export async function studyBackend(
  backend: Backend,
  samples: number,
  seed: number,
  epochs: number,
): Promise<BackendStudy> {
  const kernels = openKernels({ implementation: backend, threads: 1 });
  try {
    const time = createBackendTimes(kernels);
    const space = SPACES[backend];
    const timed = sampleShapes(space, samples, seed, backend).map(
      (shape): LatencySample => ({ ...shape, seconds: time(shape) }),
    );
    const [, rows] = space.rows;
    const most = space.tokens.to;
    const stages = await staircase({ rows, columns: Math.max(...space.columns), most, time, seed, epochs });
    const learned = await learnLatency(timed, { seed, epochs });
    return { backend, instructionSet: kernels.instructionSet, stages, learned };
  } finally {
    kernels.close();
  }
}
