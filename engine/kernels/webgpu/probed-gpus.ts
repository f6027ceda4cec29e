import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { InputError } from '../../input/input-error.ts';
import { keptFolder } from '../kept-folder.ts';
import { driversMissing, vulkanDrivers } from './vulkan-drivers.ts';

/** A GPU that WebGPU can use, and the interface by which it does. */
export interface ListedGpu {
  readonly name: string;
  /** `vulkan`, `metal` or `d3d12` */
  readonly backend: string;
}

/** The GPUs of this machine, as a child process found them. */
export interface ProbedGpus {
  readonly gpus: readonly ListedGpu[];
  /** Whether the fastest is software: the CPU computes. `undefined` where there is none that gives a device. */
  readonly software: boolean | undefined;
  /** Description of faulty drivers on this machine; `undefined` if there are none. */
  readonly problem: string | undefined;
}

/** Seconds after which a driver that doesn't answer is given up; on a busy machine one needs some. */
const ANSWERED = 60;

/**
 * Looks for GPUs in a child process, since a damaged driver ends the process that loads it, and what drivers print
 * would stand among the lines of a command: it goes to `gpu-drivers.log` in the user's folder. Drivers that end the
 * process are taken out of this one's environment, so that it loads the others.
 * @throws InputError where the package `webgpu` isn't installed
 */
export function probedGpus(): Promise<ProbedGpus> {
  const missing = driversMissing();
  const { problems } = vulkanDrivers();
  if (missing !== undefined)
    return Promise.resolve({ gpus: [], software: undefined, problem: problems.length > 0 ? missing : undefined });
  const drivers = driversOf(process.env);
  const known = probes.get(drivers);
  if (known !== undefined) return known;
  const found = probeAll();
  probes.set(drivers, found);
  return found;
}

/** By the drivers that the environment names. */
const probes = new Map<string, Promise<ProbedGpus>>();

/** The variables by which the Vulkan loader is told its drivers: the second one is older loaders'. */
const DRIVER_VARIABLES = ['VK_DRIVER_FILES', 'VK_ICD_FILENAMES'];

const driversOf = (environment: NodeJS.ProcessEnv): string =>
  [...DRIVER_VARIABLES, 'VK_ADD_DRIVER_FILES'].map((name) => environment[name] ?? '').join('\n');

async function probeAll(): Promise<ProbedGpus> {
  const all = await probe(process.env);
  if (typeof all !== 'string') return { ...all, problem: undefined };
  if (process.platform !== 'linux') return { gpus: [], software: undefined, problem: `the driver ${all}` };
  const [good, bad]: [string[], string[]] = [[], []];
  for (const path of vulkanDrivers().usable) {
    const alone = await probe({ ...process.env, ...onlyDrivers([path]) });
    if (typeof alone === 'string') bad.push(`the driver of ${path} ${alone}`);
    else good.push(path);
  }
  const problem = bad.length > 0 ? bad.join('; ') : `the drivers together: one of them ${all}`;
  if (good.length === 0 || bad.length === 0) return { gpus: [], software: undefined, problem };
  Object.assign(process.env, onlyDrivers(good));
  const others = await probe(process.env);
  return typeof others === 'string' ? { gpus: [], software: undefined, problem } : { ...others, problem };
}

const onlyDrivers = (paths: readonly string[]): Record<string, string> =>
  Object.fromEntries(DRIVER_VARIABLES.map((name) => [name, paths.join(':')]));

/**
 * Program of the child: names all adapters, as Dawn does when it is asked for one that isn't there, and opens a device
 * on the fastest.
 */
const CHILD = `
const say = (found) => process.stdout.write(JSON.stringify(found), () => process.exit());
const { create } = await import(process.argv[1]).catch((error) => say({ unloadable: error.message }));
const listed = await create(['adapter=a name that no GPU has']).requestAdapter().then(() => '', String);
const adapter = await create([]).requestAdapter({ powerPreference: 'high-performance' }).catch(() => null);
const device = await adapter?.requestDevice().catch(() => null);
device?.destroy();
say({ listed, software: device ? adapter.info.isFallbackAdapter : undefined });
`;

/** Result that the child prints as JSON. */
interface Told {
  /** Why the package `webgpu` can't be loaded. */
  readonly unloadable?: string;
  readonly listed?: string;
  readonly software?: boolean;
}

/** @returns what is wrong, as in "the driver …", if the child doesn't get to its end */
async function probe(environment: NodeJS.ProcessEnv): Promise<Omit<ProbedGpus, 'problem'> | string> {
  const log = openLog();
  try {
    const options = ['--input-type=module', '--eval', CHILD, '--', webgpuModule()];
    const child = spawn(process.execPath, options, { env: environment, stdio: ['ignore', 'pipe', log ?? 'ignore'] });
    const late = setTimeout(() => child.kill('SIGKILL'), 1000 * ANSWERED);
    let printed = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (...ended) => resolve(ended));
    }).finally(() => clearTimeout(late));
    if (signal === 'SIGKILL') return `doesn’t answer within ${ANSWERED} s`;
    if (code !== 0) return `ends the process that loads it (${signal ?? `code ${code}`})`;
    const { unloadable, listed = '', software } = JSON.parse(printed) as Told;
    if (unloadable !== undefined) throw notLoaded(unloadable);
    const named = listed.matchAll(/backend: '([^']*)', name: '([^']*)'/g);
    return { gpus: [...named].map(([, backend = '', name = '']) => ({ name, backend })), software };
  } finally {
    if (log !== undefined) closeSync(log);
  }
}

function webgpuModule(): string {
  try {
    return import.meta.resolve('webgpu');
  } catch (error) {
    throw notLoaded((error as Error).message);
  }
}

/** The error of a machine without Dawn, which the optional package `webgpu` brings. */
export function notLoaded(message: string): InputError {
  const [reason] = message.split('\n');
  return new InputError('GPU', `the package "webgpu" can’t be loaded (${reason}); install it: npm install webgpu`);
}

/** The file that takes what drivers print; `undefined` where there is no folder for it. */
export function driverLog(): string | undefined {
  const folder = keptFolder();
  return folder && join(folder, 'gpu-drivers.log');
}

/** That file, emptied and open; `undefined` where it can't be written. */
function openLog(): number | undefined {
  const path = driverLog();
  try {
    return path === undefined ? undefined : openSync(path, 'w', 0o600);
  } catch {
    return undefined;
  }
}
