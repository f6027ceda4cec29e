import { Command } from 'commander';
import { InputError } from '../input/input-error.ts';
import { openKernels } from '../kernels/open-kernels.ts';
import { loadPart } from '../ring/device/loaded-part.ts';
import { startWorker } from '../ring/device/worker.ts';
import { MOST_CHUNK_TOKENS } from '../ring/head/prompt-chunks.ts';
import { readPublicKey } from '../ring/wire/keys.ts';
import { readChoice, readCount } from '../terminal/options.ts';
import { deviceProfile } from './device-profile.ts';
import { LINK_DELAY_HELP, readDeviceMemory, readLinkDelay, readLinkKeys } from './ring-options.ts';

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
  readonly kernels: string;
}

/** `hearth worker`: computes layers for a ring until it is stopped. */
export function workerCommand(): Command {
  return new Command('worker')
    .description('Computes layers of a model for a ring: what `hearth run` on another device asks for.')
    .requiredOption('--model <file>', 'a GGUF file, or the part of one that hearth split wrote')
    .option('--listen <address>', 'where heads connect; devices of the ring use the next port', 'tcp://127.0.0.1:7400')
    .option('--keys <file>', 'of this device, from hearth keygen')
    .option('--head <key>', 'public key of a head to serve; may be repeated', (key, all: string[]) => [...all, key], [])
    .option('--plain', 'links without encryption, open to every head that reaches them')
    .option(
      '--memory <size>',
      'all that the process may take, such as 640MiB: what of the weights stays follows from it',
    )
    .option('--profile <file>', 'of this device, from hearth profile (default: it is measured when a head asks)')
    .option('--link-delay <time>', LINK_DELAY_HELP)
    .option('--threads <n>', 'default: one for each processor')
    .option('--kernels <name>', 'native, reference (slow, exact activations), or auto: native where built', 'auto')
    .action(run);
}

async function run(options: Options): Promise<void> {
  const keys = readLinkKeys(options);
  if (keys !== undefined && options.head.length === 0)
    throw new InputError('--head', 'is missing; give the public key of the head to serve, as its keygen printed it');
  const kernels = openKernels({
    implementation: readChoice('--kernels', options.kernels, ['auto', 'native', 'reference']),
    ...(options.threads === undefined ? {} : { threads: readCount('--threads', options.threads, 1, 1024) }),
  });
  const memory = readDeviceMemory(options.memory);
  const worker = await startWorker({
    loaded: loadPart(options.model, kernels, MOST_CHUNK_TOKENS),
    address: options.listen,
    keys,
    heads: options.head.map((key) => readPublicKey('--head', key)),
    memory,
    profile: deviceProfile({ file: options.profile, model: options.model, threads: kernels.threads, log }),
    linkDelay: readLinkDelay(options.linkDelay),
    log,
  });
  log(`listens at ${worker.address}${keys === undefined ? ', without encryption' : ''}`);
  await new Promise<void>((resolve) => {
    process.once('SIGINT', resolve); // once: a second one ends the process at once
    process.once('SIGTERM', resolve);
  });
  await worker.close();
  kernels.close();
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}
