import { rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism, hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { temporaryPath } from '../engine/files/temporary-file.ts';
import { formatPercent } from '../engine/input/format.ts';
import { InputError } from '../engine/input/input-error.ts';
import { type GpuKernels, openGpuKernels } from '../engine/kernels/webgpu/node-gpu.ts';
import { QUANTIZATION_NAMES, type Quantization } from '../engine/model/quantization.ts';
import { clusterFile } from '../engine/profile/cluster-file.ts';
import { THIS_HOST } from '../engine/profile/memory/host.ts';
import { partsText } from '../engine/profile/parts-profile.ts';
import { type MachineProfile, profileMachine } from '../engine/profile/profile-machine.ts';
import { profileTable } from '../engine/profile/profile-table.ts';
import { readChoices } from '../engine/terminal/options.ts';
import { createShareProgress, type ShareProgress } from '../engine/terminal/progress.ts';
import { openFastestGpu } from './found-gpu.ts';
import { PROGRESS_LINES, progressLines } from './measured-share.ts';
import { checkOutputFile, FORCE, removedIfInterrupted, writeOutputFile } from './output-file.ts';
import { profilePartsOf, readLengths } from './profile-parts.ts';
import { readSeed, readThreads } from './shared-options.ts';

interface Options {
  readonly out: string;
  readonly diskFile?: string;
  readonly threads?: string;
  readonly device?: string;
  readonly name?: string;
  readonly partsOf?: string;
  readonly lengths?: string;
  readonly seed: string;
  readonly formats?: string;
  readonly quick?: true;
  readonly force?: true;
  readonly json?: true;
  readonly progressLines?: true;
}

/** The formats of most files that people share. */
const USUAL = ['Q8_0', 'Q4_0', 'Q4_K', 'Q5_K', 'Q6_K'] as const satisfies readonly Quantization[];

/** `hearth profile`: measures this machine and writes it as a cluster of one device. */
export function profileCommand(): Command {
  return new Command('profile')
    .description(
      'Measures this machine: processor, memory and disk in less than a minute, a GPU in another. Writes a file for --cluster.',
    )
    .requiredOption('--out <file>', 'the cluster file to write; with --parts-of, the profile of parts')
    .addOption(FORCE)
    .option(
      '--disk-file <file>',
      'a file of 512 MiB on the disk to measure; it is written, read and removed (default: in the folder of --out)',
    )
    .option('--threads <n>', 'threads to measure with (default: one for each processor)')
    .option(
      '--device <name>',
      'the GPU to measure too, by its name or a part of it, as hearth inspect --devices lists them, or none (default: the fastest, unless it is software)',
    )
    .option('--name <name>', 'name of the device (default: name of the host)')
    .option(
      '--parts-of <model>',
      'instead, measure parts of this GGUF file’s products on CPU and GPU, which HeteroLLM’s solver cuts by (experiments/partition-measured.ts --parts)',
    )
    .option('--lengths <list>', 'with --parts-of: tokens of prompts (default: 64,135)')
    .option('--seed <n>', 'seed of the weights that are multiplied', '1')
    .option(
      '--formats <list>',
      `formats to measure in addition to F16; other formats use their rates (default: all; with --quick ${USUAL.join(', ')})`,
    )
    .option('--quick', 'measure everything once, and only the common formats: faster, less exact')
    .option('--json', 'print all measurements as JSON')
    .option(PROGRESS_LINES, 'progress as lines of JSON on stderr, for programs')
    .action(run);
}

async function run(options: Options): Promise<void> {
  const threads = options.threads === undefined ? availableParallelism() : readThreads(options.threads);
  const seed = readSeed(options.seed);
  const name = options.name ?? hostname();
  if (name.trim() === '') throw new InputError('--name', 'is empty; give the device a name');
  if (options.lengths !== undefined && options.partsOf === undefined)
    throw new InputError('--lengths', 'is of the parts that --parts-of measures; give both');
  const lengths = readLengths(options.lengths ?? '64,135');
  const formats = formatsOf(options);
  const out = {
    flag: '--out',
    path: options.out,
    kind: options.partsOf === undefined ? 'a cluster file' : 'a profile of parts',
    inputs: [options.partsOf],
    force: options.force === true,
  } as const;
  checkOutputFile(out);
  // A path that can't be written is reported before the measurements, which take a minute.
  checkFolder(options.out);
  const progress: ShareProgress = options.progressLines ? progressLines() : createShareProgress();
  let profile: MachineProfile;
  try {
    if (options.partsOf !== undefined) {
      const gpu = await openGpu(options.device);
      const parts = await profilePartsOf({ file: options.partsOf, lengths, threads, gpu, progress });
      writeOutputFile(out, partsText(parts));
      process.stdout.write(
        options.json ? partsText(parts) : `${parts.parts.length} parts of ${parts.model}\n${options.out}\n`,
      );
      return;
    }
    const file = options.diskFile ?? temporaryPath(join(dirname(options.out), 'hearth-profile'));
    const gpu = await openGpu(options.device);
    profile = await removedIfInterrupted(file, () =>
      profileMachine({
        ...{ name, threads, gpu, file, seed, formats },
        host: THIS_HOST,
        quick: options.quick === true,
        onProgress: progress.show,
      }),
    );
  } finally {
    progress.stop();
  }
  writeOutputFile(out, clusterFile(profile));
  process.stdout.write(options.json ? asJson(profile) : `${profileTable(profile)}\n${notes(profile)}${options.out}\n`);
}

/** Formats to measure, F16 first. */
export function formatsOf({ formats, partsOf, quick }: Pick<Options, 'formats' | 'partsOf' | 'quick'>): Quantization[] {
  if (formats !== undefined && partsOf !== undefined)
    throw new InputError('--formats', 'is not for --parts-of, which measures the model’s own; leave it out');
  const usual: readonly Quantization[] = quick ? USUAL : QUANTIZATION_NAMES;
  return [
    ...new Set<Quantization>([
      'F16',
      ...(formats === undefined ? usual : readChoices('--formats', formats, QUANTIZATION_NAMES)),
    ]),
  ];
}

/** The GPU to measure. One in software is measured if it is named. */
async function openGpu(name: string | undefined): Promise<GpuKernels | undefined> {
  if (name === 'none') return undefined;
  if (name !== undefined) return await openGpuKernels({ adapter: name });
  return await openFastestGpu({}, (line) => void process.stderr.write(`${line}\n`));
}

/** Writes and removes a file next to `out`, unless that is a device or a pipe. @throws InputError if the folder can't be written to */
function checkFolder(out: string): void {
  if (statSync(out, { throwIfNoEntry: false })?.isFile() === false) return;
  const temporary = temporaryPath(out);
  try {
    writeFileSync(temporary, '');
  } catch (error) {
    throw new InputError('--out', `${out} can’t be written: ${(error as Error).message}`);
  }
  rmSync(temporary);
}

/** Limits of the measurements. */
function notes({ disk }: MachineProfile): string {
  const kept = `${formatPercent(disk.resident)} of the disk’s file stayed in memory after the system was asked to drop it`;
  const unseen = 'Caches of a disk, or of a virtual machine’s host, can’t be detected or dropped.';
  return disk.resident > 0.02 ? `${kept}: its rates are too high. ${unseen}\n` : `${unseen}\n`;
}

function asJson(profile: MachineProfile): string {
  const plain = (_: string, value: unknown): unknown => (value instanceof Map ? Object.fromEntries(value) : value);
  return `${JSON.stringify(profile, plain, 2)}\n`;
}
