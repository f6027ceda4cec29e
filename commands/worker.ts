import { Command } from 'commander';
import { MOST_CHUNK_TOKENS } from '../engine/batch/pass-frames.ts';
import { InputError } from '../engine/input/input-error.ts';
import { watchLoop } from '../engine/kernels/native/loop-watch.ts';
import { openKernels } from '../engine/kernels/open-kernels.ts';
import { loadPart } from '../engine/ring/device/loaded-part.ts';
import { STILL_SECONDS } from '../engine/ring/device/still-reads.ts';
import { startWorker } from '../engine/ring/device/worker.ts';
import { readPublicKey } from '../engine/ring/wire/keys.ts';
import { deviceProfile } from './device-profile.ts';
import { findRingGpu } from './found-gpu.ts';
import { npxEnded } from './npx-parent.ts';
import { deviceMemoryLimit, LINK_DELAY_HELP, readDeviceMemory, readLinkDelay, readLinkKeys } from './ring-options.ts';
import { OPTIONS, readKernels, repeated } from './shared-options.ts';

interface Options {
  readonly model: string;
  readonly listen: string;
  readonly keys?: string;
  readonly head: readonly string[];
  readonly plain?: true;
  readonly memory?: string;
  readonly profile?: string;
  readonly linkDelay?: string;
  readonly threads?: string;
  readonly exact?: boolean;
  readonly fast?: boolean;
  readonly kernels: string;
  readonly device?: string;
}

const HANGS = `nothing has been computed or read for ${STILL_SECONDS} s: cuts its connections, and serves again once it moves`;

/** `hearth worker`: computes layers for a ring until it is stopped. */
export function workerCommand(): Command {
  return new Command('worker')
    .description('Computes layers of a model for a ring, whose head is `hearth run` on another device.')
    .addOption(OPTIONS.modelOrPart)
    .option('--listen <address>', 'address for heads; devices of the ring use the next port', 'tcp://127.0.0.1:7400')
    .option('--keys <file>', 'keys of this device, from hearth keygen')
    .option('--head <key>', 'public key of a head to serve; may be repeated', repeated, [])
    .option('--plain', 'links without encryption, open to every head')
    .option('--memory <size>', 'limit of the process, such as 640MiB (default: what is available)')
    .option('--profile <file>', 'profile of this device, from hearth profile (default: measured when a head asks)')
    .option('--link-delay <time>', LINK_DELAY_HELP)
    .addOption(OPTIONS.threads)
    .addOption(OPTIONS.kernels)
    .addOption(OPTIONS.exact)
    .addOption(OPTIONS.fast)
    .addOption(OPTIONS.ringDevice)
    .action(run);
}

async function run(options: Options): Promise<void> {
  const keys = readLinkKeys(options);
  if (keys !== undefined && options.head.length === 0)
    throw new InputError('--head', 'is missing; give the public key of the head to serve, as its keygen printed it');
  const kernels = openKernels(readKernels(options));
  const unwatch = watchLoop(STILL_SECONDS, HANGS);
  const ending = new AbortController();
  try {
    const memory = readDeviceMemory(options.memory);
    const gpu = await findRingGpu({ name: options.device, exact: options.exact }, log);
    const worker = await startWorker({
      loaded: loadPart(options.model, kernels, MOST_CHUNK_TOKENS, log),
      gpu,
      address: options.listen,
      keys,
      heads: options.head.map((key) => readPublicKey('--head', key)),
      memory,
      memoryLimit: deviceMemoryLimit(options.memory),
      profile: deviceProfile({
        file: options.profile,
        model: options.model,
        threads: kernels.threads,
        gpu: gpu?.name ?? 'none',
        log,
        signal: ending.signal,
      }),
      linkDelay: readLinkDelay(options.linkDelay),
      log,
    });
    if (gpu !== undefined) log(`computes on ${gpu.name} too`);
    log(`listens at ${worker.address}${keys === undefined ? ', without encryption' : ''}`);
    const stopped = new Promise<void>((resolve) => {
      process.once('SIGINT', resolve); // a second signal ends the process at once
      process.once('SIGTERM', resolve);
    });
    await Promise.race([stopped, npxEnded(), worker.lost]).finally(worker.close);
  } finally {
    ending.abort();
    unwatch();
    kernels.close();
  }
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}
