import { mkdirSync } from 'node:fs';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { Model } from '../../engine/model/model.ts';
import { createModel } from '../../engine/model/model.ts';
import { type LabCell, planOf } from './cell.ts';
import { measureDiskRate } from './disk-rate.ts';
import { type LabFacts, probeLab } from './facts.ts';
import { findLabGround } from './ground.ts';
import { type Lab, openLab } from './lab.ts';
import { logStep } from './log-step.ts';
import { LAB_SHAPES, type LabSize, labModel } from './model.ts';
import { probeCpu } from './probe-cpu.ts';
import { removeDeadLabs } from './remove-dead-labs.ts';
import { runProgram } from './run-program.ts';
import { REAL_FILES } from './system.ts';

/** A lab with a model, and what probes found out about both. */
export interface LabSession {
  readonly lab: Lab;
  readonly model: Model;
  /** The whole model. */
  readonly file: string;
  readonly facts: LabFacts;
  /** The cluster file of the processor's probes: what `hearth profile` would write. */
  readonly profile: string;
  /** What a throttle of so many bytes per second lets through; measured once on the first device. */
  diskRate(rate: number): number;
  close(): void;
}

export interface SessionParts {
  readonly cluster: Cluster;
  /** Where models are kept. */
  readonly models: string;
  readonly size: LabSize;
  readonly seed: number;
}

/** Exit code of a program that Ctrl-C ended: 128 + SIGINT. */
const INTERRUPTED = 130;

/** @throws InputError that says what this machine lacks for a lab */
export async function openSession({ cluster, models, size, seed }: SessionParts): Promise<LabSession> {
  mkdirSync(models, { recursive: true });
  // The model, a part of it on every device, and a file that is read to probe the processor.
  const room = 2 * createModel(LAB_SHAPES[size], 'F16').bytes + 2 ** 30;
  const ground = findLabGround(REAL_FILES, runProgram, models, room);
  if ('missing' in ground) throw new InputError('a lab', `can't be set up here; missing: ${ground.missing.join('; ')}`);
  const removed = removeDeadLabs(ground, models);
  if (removed.length > 0) logStep(`removed what a dead lab had left: ${removed.join(', ')}`);
  logStep('the model');
  const file = await labModel(models, size, seed);
  const model = withFile(file, (bytes) => modelFromGguf(readGguf(bytes)));
  logStep('probes of the processor');
  const { cluster: probed, text } = await probeCpu(models, seed);
  const machine = probed.devices[0];
  if (machine === undefined) throw new RangeError('the probes describe no device');
  process.once('SIGINT', () => process.exit(INTERRUPTED)).once('SIGTERM', () => process.exit(INTERRUPTED));
  const lab = openLab(cluster, ground, models);
  try {
    logStep('probes of the lab: a run with everything in memory');
    const plan = planOf(roomy(model, lab), namesOf(lab), model);
    const facts = await probeLab(lab, model, file, plan, machine);
    const rates = new Map<number, number>();
    const diskRate = (rate: number): number => {
      const known = rates.get(rate);
      if (known !== undefined) return known;
      logStep(`probe of the disk at ${Math.round(rate / 1e6)} MB/s`);
      const group = lab.createGroup(namesOf(lab)[0] as string);
      group.limit({ memory: 2 ** 30, diskRate: rate, cores: 1 });
      const measured = measureDiskRate(group, file, model.bytes, rate);
      rates.set(rate, measured);
      return measured;
    };
    return { lab, model, file, facts, profile: text, diskRate, close: lab.close };
  } catch (error) {
    lab.close();
    throw error;
  }
}

export function namesOf({ cluster }: Pick<Lab, 'cluster'>): string[] {
  return cluster.devices.map(({ name }) => name);
}

/** Everything fits, and nobody does anything about it. */
function roomy({ layers }: Model, { cluster }: Lab): LabCell {
  const each = <Value>(value: Value): Value[] => cluster.devices.map(() => value);
  const windows = each(layers / cluster.devices.length);
  return { rounds: 1, windows, prefetch: 'none', release: 'none', memoryShares: each(2), diskRates: each(1e12) };
}
