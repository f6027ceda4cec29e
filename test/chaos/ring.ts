import { copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TINY } from '../../engine/gguf/make/made-model.ts';
import { makeGguf } from '../../engine/gguf/make/make-gguf.ts';
import { uniformShape } from '../../engine/model/architecture.ts';
import { writeKeys } from '../../engine/ring/wire/keys.ts';
import { type Ground, openGround } from './ground.ts';
import { STARTED, startTimed, type TimedProcess, until } from './process.ts';

/** Names of the four devices, the head first. */
export const DEVICES = ['head', 'one', 'two', 'three'] as const;
export type DeviceName = (typeof DEVICES)[number];
export type WorkerName = Exclude<DeviceName, 'head'>;
export const WORKERS = DEVICES.slice(1) as WorkerName[];

/** How a request is run. */
export interface RequestOptions {
  /** Whether devices describe themselves and links are measured, rather than taken from the cluster file. */
  readonly profiles: boolean;
  /** Whether weights are read from disk for every token. */
  readonly drops: boolean;
}

/** A ring of four processes of `hearth`, and the means to harm each. */
export interface ChaosRing {
  readonly ground: Ground;
  worker(name: WorkerName): TimedProcess;
  /** The file of a device's own copy of the model. */
  modelOf(name: DeviceName): string;
  /** A model with the same header and other weights. */
  readonly otherModel: string;
  /** Starts the worker anew, with a whole copy of the model. */
  restart(name: WorkerName): Promise<void>;
  /** A process of its own for a head that runs the request. */
  request(options: RequestOptions): TimedProcess;
  /** The request in one process. */
  alone(): TimedProcess;
  /** Makes the main thread of a device hang, until the returned function is called. */
  hang(process: TimedProcess): () => void;
  /** Makes a worker send each result twice, late or never, until the returned function is called. */
  lie(name: WorkerName, how: 'twice' | 'late' | 'never'): () => void;
  /** Waits until the worker serves no head, or has ended. @returns whether it does so within `seconds` */
  isIdle(name: WorkerName, seconds: number): Promise<boolean>;
  close(): void;
}

/** Eight layers, two for each device; a token takes a few milliseconds. */
const SHAPE = uniformShape({ ...TINY, name: 'chaos', layers: 8, hiddenSize: 256, ffnSize: 1024 });
const PROMPT = Array.from({ length: 60 }, (_, index) => `word${(index * 7) % 31}`).join(' ');
/** Enough for some seconds of decoding at this delay of every hop. */
const TOKENS = 60;
const DELAY = '8 ms';
const PORT = 7400;
/** Apart from each other on loopback, where all devices share a host. */
const PORTS_APART = 10;

export async function openRing(folder: string): Promise<ChaosRing> {
  const ground = openGround(DEVICES, folder);
  const source = join(folder, 'model.gguf');
  const otherModel = join(folder, 'other.gguf');
  await makeGguf({ shape: SHAPE, mix: 'F32', seed: 1, path: source });
  await makeGguf({ shape: SHAPE, mix: 'F32', seed: 2, path: otherModel });
  const fileOf = (name: string, file: string): string => join(folder, name, file);
  const keys = new Map(
    DEVICES.map((name) => {
      mkdirSync(join(folder, name), { recursive: true });
      rmSync(fileOf(name, 'keys'), { force: true });
      copyFileSync(source, fileOf(name, 'model.gguf'));
      return [name, writeKeys(fileOf(name, 'keys')).publicKey];
    }),
  );
  const groundOf = (name: DeviceName) => ground.devices[DEVICES.indexOf(name)] as Ground['devices'][number];
  const addressOf = (name: WorkerName): string =>
    `tcp://${groundOf(name).host}:${PORT + PORTS_APART * DEVICES.indexOf(name)}`;
  writeClusters(folder, addressOf, keys);
  const [hangs, lies] = [fileOf('head', 'hang'), fileOf('head', 'lie')];
  const start = (name: DeviceName, options: readonly string[]): TimedProcess =>
    startTimed({
      ...groundOf(name),
      environment: { HEARTH_CHAOS_HANG: `${hangs}-${name}`, HEARTH_CHAOS_LIE: `${lies}-${name}` },
      options,
    });
  const workers = new Map<WorkerName, TimedProcess>();
  const common = (name: DeviceName): string[] => [
    ...['--model', fileOf(name, 'model.gguf'), '--keys', fileOf(name, 'keys')],
    ...['--threads', '1', '--link-delay', DELAY, '--profile', join(folder, 'profile.json')],
  ];
  const restart = async (name: WorkerName): Promise<void> => {
    const old = workers.get(name);
    old?.signal('SIGKILL');
    await old?.ended;
    copyFileSync(source, `${fileOf(name, 'model.gguf')}.tmp`);
    renameSync(`${fileOf(name, 'model.gguf')}.tmp`, fileOf(name, 'model.gguf'));
    const started = start(name, [
      ...['worker', ...common(name), '--listen', addressOf(name), '--head', keys.get('head') as string],
    ]);
    workers.set(name, started);
    const listens = await until(STARTED, () => started.lines.some(({ text }) => text.startsWith('listens at')));
    if (listens === undefined) throw new Error(`${name} does not listen: ${started.lines.map(({ text }) => text)}`);
  };
  const close = (): void => {
    for (const worker of workers.values()) worker.signal('SIGKILL');
    ground.close();
  };
  try {
    await Promise.all(WORKERS.map(restart));
  } catch (error) {
    close();
    throw error;
  }
  const sampling = ['--prompt', PROMPT, '--tokens', String(TOKENS), '--seed', '1', '--threads', '1'];
  return {
    ground,
    otherModel,
    restart,
    close,
    worker: (name) => workers.get(name) as TimedProcess,
    modelOf: (name) => fileOf(name, 'model.gguf'),
    request({ profiles, drops }) {
      const cluster = join(folder, profiles ? 'addresses.json' : 'cluster.json');
      const release = drops ? ['--release', 'drop', '--prefetch', 'none'] : [];
      return start('head', [
        ...['run', ...common('head'), ...sampling, '--cluster', cluster, '--scheduler', 'memory-ratio'],
        ...[...release, '--kv', 'F32'],
      ]);
    },
    alone: () => start('head', ['generate', ...sampling, '--model', source, '--kv', 'F32']),
    hang(process) {
      const name = WORKERS.find((worker) => workers.get(worker) === process) ?? 'head';
      writeFileSync(`${hangs}-${name}`, '');
      process.signal('SIGUSR2');
      return () => rmSync(`${hangs}-${name}`, { force: true });
    },
    lie(name, how) {
      writeFileSync(`${lies}-${name}`, how);
      (workers.get(name) as TimedProcess).signal('SIGUSR1');
      return () => rmSync(`${lies}-${name}`, { force: true });
    },
    async isIdle(name, seconds) {
      const worker = workers.get(name) as TimedProcess;
      const { lines } = worker;
      const last = (): string | undefined =>
        lines.findLast(({ text }) => text.startsWith('serves ') || text.endsWith('its memory is freed'))?.text;
      const idle = (): boolean => worker.code !== undefined || !last()?.startsWith('serves ');
      return (await until(seconds, idle)) !== undefined;
    },
  };
}

/** The cluster file with and without hardware facts, and the profile that every device gives of itself. */
function writeClusters(
  folder: string,
  addressOf: (name: WorkerName) => string,
  keys: ReadonlyMap<string, string>,
): void {
  const facts = {
    os: 'linux',
    memory: { total: '1 TiB', available: '4 GiB' },
    cpu: { cores: 1, compute: '20 GFLOPS', bandwidth: '10 GB/s' },
    disk: { sequential: '1 GB/s' },
  };
  const links = { default: { latency: '10 ms', bandwidth: '1 Gbps' } };
  const addresses = DEVICES.map((name) => ({
    name,
    publicKey: keys.get(name),
    ...(name === 'head' ? {} : { address: addressOf(name) }),
  }));
  const write = (file: string, value: unknown): void =>
    writeFileSync(join(folder, file), JSON.stringify(value, null, 2));
  write('addresses.json', { devices: addresses });
  write('cluster.json', { name: 'chaos', devices: addresses.map((one) => ({ ...one, ...facts })), links });
  write('profile.json', { name: 'chaos', devices: [{ name: 'any', ...facts }], links });
}
