import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { temporaryPath } from '../files/temporary-file.ts';
import { withFile } from '../gguf/file-source.ts';
import { readGguf } from '../gguf/read-gguf.ts';
import { parseCluster } from '../hardware/parse-cluster.ts';
import { InputError } from '../input/input-error.ts';
import type { Quantization } from '../model/quantization.ts';
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
 * `hearth profile` of the formats that the model has, run once in its own process, since this process must keep
 * answering other devices.
 * @throws InputError at once for a file that can't be read or does not have exactly one device
 */
export function deviceProfile(options: DeviceProfileOptions): () => Promise<string> {
  const saved = options.file === undefined ? undefined : readProfile(options.file);
  let measured: Promise<string> | undefined;
  return () => {
    if (saved !== undefined) return Promise.resolve(saved);
    measured ??= measure(options);
    return measured;
  };
}

function readProfile(path: string): string {
  let text = '';
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    throw new InputError(path, "can't be read; give a file from hearth profile");
  }
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

async function measure({ model, threads, gpu, log, signal }: DeviceProfileOptions): Promise<string> {
  log('measuring this device');
  const folder = mkdtempSync(join(tmpdir(), 'hearth-profile-'));
  const out = join(folder, 'profile.json');
  const disk = temporaryPath(join(dirname(model), 'hearth-profile'));
  try {
    const options = [
      'profile',
      '--quick',
      '--formats',
      matrixFormats(model).join(),
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
    return readProfile(out);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(disk, { force: true }); // a measurement that was ended leaves it
  }
}
