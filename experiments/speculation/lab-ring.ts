import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LabCell, planOf } from '../../datasets/lab/cell.ts';
import { LAB_POLICIES } from '../../datasets/lab/policies.ts';
import { loadClusterFile } from '../../datasets/load.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { Model } from '../../engine/model/model.ts';
import { cellLimits } from '../lab/cell-limits.ts';
import { FOUR_DEVICES } from '../lab/experiment.ts';
import { findLabGround } from '../lab/ground.ts';
import { openLab } from '../lab/lab.ts';
import { runHead } from '../lab/ring.ts';
import { REAL_FILES, runProgram } from '../lab/system.ts';
import type { PassTimes } from './machine.ts';
import type { Measured, SpeculationCase } from './measure.ts';

/** Task of a ring's head; sets aren't JSON. */
export interface RingTask extends Omit<SpeculationCase, 'stops'> {
  readonly stops: readonly number[];
}

export interface RingFound {
  readonly passes: PassTimes;
  readonly measured: readonly Measured[];
}

/** Bytes per second of each device's disk: as fast as serving's lab ring has them. */
const DISK_RATE = 200e6;
/** Memory of each device apart from its weights, which are dropped after every window: it is no limit. */
const OWN_BYTES = 2 ** 30;
/** Bytes that a lab's parts of a model may take in addition to it. */
const SPARE_BYTES = 2 ** 28;
const PROGRAM = ['--import', import.meta.resolve('tsx'), join(import.meta.dirname, 'ring-head.ts')];

/**
 * Measures all sources and lengths on a lab ring of four devices, each of which reads its weights from a disk of DISK_RATE
 * in every pass, and drops them.
 * @throws InputError that says what this machine lacks for a lab
 */
export async function runOnLabRing(asked: SpeculationCase, model: Model): Promise<RingFound> {
  const { cluster } = loadClusterFile(FOUR_DEVICES);
  mkdirSync(asked.folder, { recursive: true });
  const ground = findLabGround(REAL_FILES, runProgram, asked.folder, 2 * model.bytes + SPARE_BYTES);
  if ('missing' in ground) throw new InputError('a lab', `can’t be set up here; missing: ${ground.missing.join('; ')}`);
  const lab = openLab(cluster, ground, asked.folder);
  try {
    const devices = lab.devices.length;
    if (model.layers % devices !== 0)
      throw new InputError(
        '--model',
        `has ${model.layers} layers, which ${devices} devices of a ring can’t share equally`,
      );
    const each = <Value>(value: Value): Value[] => Array(devices).fill(value);
    const cell: LabCell = {
      ...{ rounds: 1, windows: each(model.layers / devices), policy: LAB_POLICIES.drop },
      ...{ memoryShares: each(2), diskRates: each(DISK_RATE) },
    };
    const plan = planOf(cell, lab.devices, model);
    const limits = cellLimits(lab, { cell, model, plan, ownBytes: each(OWN_BYTES) });
    const [taskFile, resultFile] = [join(lab.folder, 'task.json'), join(lab.folder, 'found.json')];
    const task: RingTask = { ...asked, stops: [...asked.stops] };
    writeFileSync(taskFile, JSON.stringify(task));
    const head = { program: PROGRAM, options: [taskFile, resultFile], watched: false, during: () => [0, 0] as const };
    await runHead(lab, { model: asked.file, plan, limits }, head);
    return JSON.parse(readFileSync(resultFile, 'utf8')) as RingFound;
  } finally {
    lab.close();
  }
}
