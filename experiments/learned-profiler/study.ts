import { type ChipDevice, chipDevice } from '../../engine/hardware/chip.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Device } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import {
  type HeldOutError,
  LATENCY_MODELS,
  type LatencyModelKind,
} from '../../engine/profile/predicted/latency-model.ts';
import { createProfilePart } from '../../simulator/profile-part.ts';
import { type Coverage, type LearnedChip, learnChip, timeOf } from './profile.ts';
import { type Regret, regretsOf } from './regret.ts';
import { type Staircase, staircase } from './staircase.ts';

export interface StudyCase {
  readonly cluster: Cluster;
  readonly model: Model;
  /** Numbers of samples, ascending; the layers alone are learned from the most. */
  readonly samples: readonly number[];
  /** Prompts to plan for. */
  readonly lengths: readonly number[];
  /** Relative deviation of the times of a run. */
  readonly noise: number;
  readonly seed: number;
  readonly epochs: number;
  readonly step: (text: string) => void;
}

/** The results from one number of samples. */
export interface Lesson {
  readonly samples: number;
  readonly coverage: Coverage;
  readonly errors: Readonly<Record<'gpu' | 'npu', Readonly<Record<LatencyModelKind, HeldOutError>>>>;
  readonly kept: Readonly<Record<'gpu' | 'npu', LatencyModelKind>>;
  readonly regrets: readonly Regret[];
}

export interface Study {
  readonly stages: Staircase;
  readonly lessons: readonly Lesson[];
}

/** A square product that takes an NPU as many tiles as a usual attention output. */
const STAGE_SHAPE = { rows: 4096, columns: 4096, most: 200 };

/** Number of progress steps of a study. */
export function studySteps({ samples }: Pick<StudyCase, 'samples'>): number {
  return 1 + 3 * (samples.length + 1);
}

/** Profiles the simulated chip, learns from increasing numbers of samples, and plans with the learned times. */
export async function study(parts: StudyCase): Promise<Study> {
  const { cluster, model, samples, lengths, noise, seed, epochs, step } = parts;
  const device: ChipDevice = chipDevice(cluster.devices[0] as Device);
  const run = createProfilePart(device, { seed, noise });
  step('stages of the NPU');
  const stages = await staircase({ ...STAGE_SHAPE, time: (shape) => timeOf(run, 'npu', shape), seed, epochs });
  const lots: { samples: number; coverage: Coverage }[] = [
    ...samples.map((count) => ({ samples: count, coverage: 'all operators' as const })),
    { samples: Math.max(...samples), coverage: 'layers only' },
  ];
  const lessons: Lesson[] = [];
  for (const lot of lots) {
    const learned = await learnChip({ device, model, run, seed, epochs, step, ...lot });
    step(`planning by ${lot.samples} samples, ${lot.coverage}`);
    lessons.push({ ...lot, ...summaryOf(learned), regrets: regretsOf({ cluster, model, learned, lengths }) });
  }
  return { stages, lessons };
}

function summaryOf({ gpu, npu }: LearnedChip): Pick<Lesson, 'errors' | 'kept'> {
  return { errors: { gpu: gpu.errors, npu: npu.errors }, kept: { gpu: gpu.better.kind, npu: npu.better.kind } };
}

/** Mean regret over prompts of a lesson, by regression. */
export function meanRegret({ regrets }: Lesson, kind: LatencyModelKind, time: 'ttft' | 'tpot'): number {
  const own = regrets.filter((regret) => regret.kind === kind);
  return own.reduce((sum, regret) => sum + regret[time], 0) / own.length;
}

/** The findings of a study in a paragraph. */
export function studyFinding({ stages, lessons }: Study): string {
  const most = lessons.findLast(({ coverage }) => coverage === 'all operators') as Lesson;
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  const worst = LATENCY_MODELS.map((kind) => ({ kind, error: unseenError(stages, kind) }));
  const ofStages = worst.map(({ kind, error }) => `${kind} ${percent(error)}`).join(', ');
  const errors = LATENCY_MODELS.map(
    (kind) =>
      `${kind} ${percent(most.errors.gpu[kind].median)} on the GPU and ${percent(most.errors.npu[kind].median)} on the NPU`,
  ).join(', ');
  const regrets = LATENCY_MODELS.map(
    (kind) =>
      `${kind} ${percent(meanRegret(most, kind, 'tpot'))} of a token and ${percent(meanRegret(most, kind, 'ttft'))} of a prompt`,
  ).join(', ');
  return `Along one dimension a tree finds the NPU’s stages and a network smooths them (median error at lengths not seen: ${ofStages}). Over whole shapes, held-out median errors after ${most.samples} samples are: ${errors}; kept is the smaller. What that costs the solver’s choice: ${regrets}.`;
}

/** Median relative error at the lengths outside the training set. */
export function unseenError({ tokens, real, seen, ...predicted }: Staircase, kind: LatencyModelKind): number {
  const known = new Set(seen);
  const errors = tokens
    .flatMap((length, index) =>
      known.has(length) ? [] : [Math.abs((predicted[kind][index] as number) / (real[index] as number) - 1)],
    )
    .sort((one, other) => one - other);
  return errors[Math.floor(errors.length / 2)] ?? Number.NaN;
}
