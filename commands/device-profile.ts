import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { temporaryPath } from '../engine/files/temporary-file.ts';
import { withFile } from '../engine/gguf/file-source.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { parseCluster } from '../engine/hardware/parse-cluster.ts';
import { InputError } from '../engine/input/input-error.ts';
import type { Quantization } from '../engine/model/quantization.ts';
import { keepProfile, readKeptProfile } from './kept-profile.ts';
import { PROGRESS_LINES, shareLog } from './measured-share.ts';

export interface DeviceProfileOptions {
  /** A file from hearth profile; `undefined`: the device is measured when its profile is needed. */
  readonly file: string | undefined;
  /** The model file, whose formats are measured, on the disk that is. */
  readonly model: string;
  readonly threads: number;
  /** The GPU to measure, as `hearth profile --device` takes it. */
  readonly gpu: string;
  readonly log: (line: string) => void;
  /** Ends a measurement that is under way. */
  readonly signal: AbortSignal;
}

/**
 * Returns a function that gives this device's description as in a cluster file, JSON: from the file, or from a quick
 * `hearth profile` of the formats that the model has, run in its own process, since this process must keep answering
 * other devices. What was measured is kept, and used again unless a fresh measurement is asked for.
 * @throws InputError at once for a file that can't be read or does not have exactly one device
 */
export function deviceProfile(options: DeviceProfileOptions): (fresh: boolean) => Promise<string> {
  const saved = options.file === undefined ? undefined : readProfile(options.file);
  let measured: Promise<string> | undefined;
  let isMeasuring = false;
  return (fresh) => {
    if (saved !== undefined) return Promise.resolve(saved);
    if (measured !== undefined && (isMeasuring || !fresh)) return measured;
    isMeasuring = true;
    measured = measuredOrKept(options, fresh).finally(() => {
      isMeasuring = false;
    });
    return measured;
  };
}

async function measuredOrKept(options: DeviceProfileOptions, fresh: boolean): Promise<string> {
  const what = { ...options, formats: matrixFormats(options.model) };
  const kept = fresh ? undefined : readKeptProfile(what);
  if (kept !== undefined) {
    options.log(`this device as measured on ${kept.day} (${kept.path}); --measure measures it again`);
    return onlyDevice(kept.text, kept.path);
  }
  const text = await measure(options, what.formats);
  keepProfile(what, text);
  return onlyDevice(text, 'profile');
}

function readProfile(path: string): string {
  let text = '';
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    throw new InputError(path, 'can’t be read; give a file from hearth profile');
  }
  return onlyDevice(text, path);
}

/** The device of a cluster file of one. @throws InputError */
function onlyDevice(text: string, path: string): string {
  const { devices } = parseCluster(text, path);
  if (devices.length !== 1)
    throw new InputError(path, `has ${devices.length} devices; give the file from hearth profile for this one`);
  return JSON.stringify(JSON.parse(text).devices[0]);
}

/** Formats of a file's matrices. */
export function matrixFormats(model: string): Quantization[] {
  const { tensors } = withFile(model, readGguf);
  return [...new Set(tensors.filter(({ shape }) => shape.length > 1).map(({ type }) => type))];
}

/** @returns the cluster file */
async function measure(
  { model, threads, gpu, log, signal }: DeviceProfileOptions,
  formats: readonly Quantization[],
): Promise<string> {
  log('measuring this device');
  const folder = mkdtempSync(join(tmpdir(), 'hearth-profile-'));
  const out = join(folder, 'profile.json');
  const disk = temporaryPath(join(dirname(model), 'hearth-profile'));
  try {
    const options = [
      'profile',
      '--quick',
      '--formats',
      formats.join(),
      PROGRESS_LINES,
      '--out',
      out,
      '--disk-file',
      disk,
      '--threads',
      String(threads),
      '--device',
      gpu,
    ];
    const child = spawn(process.execPath, [...process.execArgv, process.argv[1] as string, ...options], {
      signal,
    });
    let problem = '';
    const logged = shareLog(log);
    child.stdout.resume();
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (!logged(line)) problem = `${problem}${line}\n`.slice(-1000);
    });
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    if (code !== 0) throw new InputError('profile', problem.trim() || `ended with ${code}`);
    return readFileSync(out, 'utf8');
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(disk, { force: true }); // a measurement that was ended leaves it
  }
}
