import { answersOf, type LabAnswers } from '../../datasets/lab/answers.ts';
import type { LabCell } from '../../datasets/lab/cell.ts';
import { quickCells } from '../../datasets/lab/cells.ts';
import { type RecordedRun, recordedCase } from '../../datasets/lab/recorded.ts';
import { LAB_SHAPES } from '../../datasets/lab/shapes.ts';
import type { Cpu, FlopRates } from '../../engine/hardware/device.ts';
import { createModel } from '../../engine/model/model.ts';
import type { TokenFigures } from '../../engine/trace/token-figures.ts';

/** 0.6 GB in F16, in 32 layers on four devices. */
export const MODEL = createModel(LAB_SHAPES.small, 'F16');
/** The plans that were recorded, in the order of the record. */
export const CELLS: readonly LabCell[] = quickCells(MODEL.layer.bytes);
/** Tokens of a run, as measured. */
const TOKENS = 7;

/** Factors on what was probed before the runs; 1 leaves a probe as it was. */
export interface Calibration {
  readonly disk: number;
  readonly memory: number;
  readonly processor: number;
  readonly hop: number;
}
export const AS_PROBED: Calibration = { disk: 1, memory: 1, processor: 1, hop: 1 };

export type Answers = Pick<LabAnswers, 'predicted' | 'overlapped' | 'simulated'>;

/** The record as it would be if the probes had found other values. */
function calibrated(run: RecordedRun, { disk, memory, processor, hop }: Calibration): RecordedRun {
  const { facts, room, diskRates } = run;
  return {
    ...run,
    facts: { ...facts, cpu: scaled(facts.cpu, processor), hopSeconds: hop * facts.hopSeconds },
    room: room.map((bytes) => memory * bytes),
    diskRates: diskRates.map((rate) => disk * rate),
  };
}

function scaled(cpu: Cpu, factor: number): Cpu {
  const rates = Object.fromEntries(Object.entries(cpu.flops).map(([format, rate]) => [format, factor * rate]));
  return { ...cpu, flops: rates as FlopRates, bandwidth: factor * cpu.bandwidth };
}

/** Predicts and simulates a recorded plan. */
export function answerPlan(run: RecordedRun, calibration: Calibration = AS_PROBED): Answers {
  const cell = CELLS[run.plan] as LabCell;
  const asked = recordedCase(calibrated(run, calibration), cell, MODEL, TOKENS);
  const { predicted, overlapped, simulated } = answersOf(asked);
  return { predicted, overlapped, simulated };
}

/** Factors beyond which two answers count as apart. */
const APART = 1.15;

/** Sentences on where the closed form of A.3 parts from the measurement, and why. */
export function whyApart(cell: LabCell, { predicted, simulated }: Answers, measured: TokenFigures): string[] {
  const gib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  const reasons: string[] = [];
  if (measured.bytes > APART * predicted.bytes)
    reasons.push(
      `Eq. 15 expects that what fits in memory stays, and that ${gib(predicted.bytes)} are read for a token. Linux read ${gib(measured.bytes)}: it had dropped what was needed next.`,
    );
  if (predicted.seconds > APART * measured.seconds && cell.policy.prefetch !== 'none')
    reasons.push(
      'The closed form adds up the devices’ disks, one after the other. In fact they read at the same time, each while others compute or read.',
    );
  if (measured.bytes === 0)
    reasons.push('Nothing is read: what is left are the processors and the hops, and what no probe knows of.');
  if (reasons.length === 0) reasons.push('All of them agree within 15 %.');
  if (measured.bytes > 0 && Math.abs(simulated.seconds / measured.seconds - 1) < APART - 1)
    reasons.push('The simulation, which has pages, disks and devices as events, follows the measurement.');
  return reasons;
}
