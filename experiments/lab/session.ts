import { makeOutputFolder } from '../../commands/output-file.ts';
import { type LabCell, planOf } from '../../datasets/lab/cell.ts';
import type { LabFacts } from '../../datasets/lab/facts.ts';
import { LAB_POLICIES } from '../../datasets/lab/policies.ts';
import { LAB_SHAPES, type LabSize } from '../../datasets/lab/shapes.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { createModel, type Model } from '../../engine/model/model.ts';
import { removeDeadLabs } from './dead-labs.ts';
import { probeLab } from './facts.ts';
import { findLabGround } from './ground.ts';
import { type Lab, openLab } from './lab.ts';
import { keptModels, labModel } from './model.ts';
import { measureDiskRate, probeCpu } from './probes.ts';
import { REAL_FILES, runProgram } from './system.ts';

/** An open lab with a model, and the probed facts about both. */
export interface LabSession {
  readonly lab: Lab;
  readonly model: Model;
  /** File of the whole model. */
  readonly file: string;
  readonly facts: LabFacts;
  /** The cluster file that the probes of this machine make, as `hearth profile` writes it. */
  readonly profile: string;
  /**
   * Bytes per second that a throttle set to a given rate really lets through; each rate is measured once, on the first
   * device.
   */
  diskRate(rate: number): number;
  close(): void;
}

export interface SessionParts {
  readonly cluster: Cluster;
  /** Folder where models are kept. */
  readonly models: string;
  readonly size: LabSize;
  readonly seed: number;
  /** Passes of several texts are probed too; default: no. */
  readonly passes?: boolean;
}

/** Exit code of a program that Ctrl-C ended: 128 + SIGINT. */
const INTERRUPTED = 130;

/** Logs to stderr what a lab does next. */
export function logStep(line: string): void {
  process.stderr.write(`lab: ${line}\n`);
}

/**
 * Opens a lab, runs `work`, and closes the lab however `work` ends. Then logs which models are kept, and how to remove
 * them.
 * @throws InputError that says what this machine lacks for a lab
 */
export async function onLab<Result>(
  parts: SessionParts,
  work: (session: LabSession) => Promise<Result>,
): Promise<Result> {
  const session = await openSession(parts);
  try {
    return await work(session);
  } finally {
    session.close();
    const kept = keptModels(parts.models);
    if (kept !== undefined) logStep(kept);
  }
}

async function openSession({ cluster, models, size, seed, passes = false }: SessionParts): Promise<LabSession> {
  makeOutputFolder('--models', models);
  // The model, a part of it on every device, and a file that is read to probe the processor.
  const bytes = 2 * createModel(LAB_SHAPES[size], 'F16').bytes + 2 ** 30;
  const ground = findLabGround(REAL_FILES, runProgram, models, bytes);
  if ('missing' in ground) throw new InputError('a lab', `can’t be set up here; missing: ${ground.missing.join('; ')}`);
  const removed = removeDeadLabs(ground, models);
  if (removed.length > 0) logStep(`removed what a dead lab had left: ${removed.join(', ')}`);
  logStep('the model');
  const file = await labModel(models, size, seed);
  const model = withFile(file, (source) => modelFromGguf(readGguf(source)));
  logStep('probes of the processor');
  const { cluster: probed, text } = await probeCpu(models, seed, { passes });
  const machine = probed.devices[0];
  if (machine === undefined) throw new RangeError('the probes describe no device');
  // Ends through process.exit, whose handlers close the lab.
  process.once('SIGINT', () => process.exit(INTERRUPTED)).once('SIGTERM', () => process.exit(INTERRUPTED));
  const lab = openLab(cluster, ground, models);
  try {
    logStep('probes of the lab: a run with everything in memory');
    const plan = planOf(roomyCell(model, lab), lab.devices, model);
    const facts = await probeLab(lab, model, file, plan, machine);
    const diskRate = createDiskProbe(lab, file, model.bytes);
    return { lab, model, file, facts, profile: text, diskRate, close: lab.close };
  } catch (error) {
    lab.close();
    throw error;
  }
}

/** Measures what throttles let through, each rate once. */
function createDiskProbe(lab: Lab, file: string, fileBytes: number): LabSession['diskRate'] {
  const rates = new Map<number, number>();
  return (rate) => {
    const known = rates.get(rate);
    if (known !== undefined) return known;
    logStep(`probe of the disk at ${Math.round(rate / 1e6)} MB/s`);
    const group = lab.createGroup(lab.devices[0] as string);
    group.limit({ memory: 2 ** 30, diskRate: rate, cores: 1 });
    const measured = measureDiskRate(group, file, fileBytes, rate);
    rates.set(rate, measured);
    return measured;
  };
}

/** One round of equal windows that fit into memory, without a weights policy. */
function roomyCell({ layers }: Model, { devices }: Lab): LabCell {
  const each = <Value>(value: Value): Value[] => devices.map(() => value);
  const windows = each(layers / devices.length);
  return { rounds: 1, windows, policy: LAB_POLICIES.none, memoryShares: each(2), diskRates: each(1e12) };
}
