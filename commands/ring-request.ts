import type { Command } from 'commander';
import { FEWEST_CHUNK_TOKENS, MOST_CHUNK_TOKENS } from '../engine/batch/pass-frames.ts';
import { InputError } from '../engine/input/input-error.ts';
import { PREFETCHES, RELEASES } from '../engine/plan/weights-policy.ts';
import { type RequestedWeights, RING_SCHEDULERS, type RingScheduler } from '../engine/ring/head/planning.ts';
import { ACTIVATION_FORMATS, type ActivationFormat } from '../engine/ring/wire/activations.ts';
import type { KeyPair } from '../engine/ring/wire/keys.ts';
import { readChoice, readCount, readNumber } from '../engine/terminal/options.ts';
import { deviceMemoryLimit, LINK_DELAY_HELP, readDeviceMemory, readLinkDelay, readLinkKeys } from './ring-options.ts';
import { OPTIONS, optional, repeated } from './shared-options.ts';

/** The parsed options of a command that is the head of a ring. */
export interface RingRequest {
  /** The cluster file; `undefined`: the devices are `workers`. */
  readonly cluster: string | undefined;
  /** `address`, or `address,publicKey` if links are encrypted. */
  readonly workers: readonly string[];
  /** The profile of this device; `undefined`: it is measured if needed. */
  readonly profile: string | undefined;
  /** Whether devices are measured again that have been measured before. */
  readonly measure: boolean;
  readonly keys: KeyPair | undefined;
  readonly plan: string | undefined;
  /** `undefined`: none is given. */
  readonly scheduler: RingScheduler | undefined;
  readonly activations: ActivationFormat;
  readonly chunk: number;
  /** The GPU that this device computes on too, or `none`; `undefined`: the fastest, unless it is software. */
  readonly device: string | undefined;
  /** Bytes for weights and KV caches on this device. */
  readonly memory: number;
  /** Memory of the whole process, or the RAM, bytes. */
  readonly memoryLimit: number;
  /** Most memory pressure of a device that a made plan may cause, as a share; `undefined`: what is available. */
  readonly maxPressure: number | undefined;
  /** Seconds that frames wait before they are sent. */
  readonly linkDelay: number;
  readonly requested: RequestedWeights;
}

/** These options as commander passes them. */
export interface RingOptions {
  readonly cluster?: string;
  readonly worker: readonly string[];
  readonly profile?: string;
  readonly measure?: true;
  readonly keys?: string;
  readonly plain?: true;
  readonly plan?: string;
  readonly scheduler?: string;
  readonly activations: string;
  readonly chunk: string;
  readonly memory?: string;
  readonly maxPressure?: string;
  readonly linkDelay?: string;
  readonly prefetch?: string;
  readonly release?: string;
  readonly device?: string;
}

/** Adds the options of a head, all but `--memory`, which commands describe themselves. */
export function addRingOptions(command: Command): Command {
  return command
    .option('--cluster <file>', 'the devices, each with address and publicKey (datasets/README.md)')
    .option(
      '--worker <address,key>',
      'in place of --cluster: tcp://host:port of a worker and its public key; may be repeated, in ring order',
      repeated,
      [],
    )
    .option(
      '--profile <file>',
      'profile of this device, from hearth profile: for plans if --cluster has no hardware facts, and for --gpu-layers auto (default: measured)',
    )
    .addOption(OPTIONS.measure)
    .option('--keys <file>', 'keys of this device, from hearth keygen')
    .option('--plain', 'links without encryption')
    .option('--plan <file>', 'a plan: which layers run where')
    .option('--scheduler <name>', `makes the plan if none is given or a device is lost: ${RING_SCHEDULERS.join(', ')}`)
    .option(
      '--activations <format>',
      'format of activations between devices: F32 (exact) or F16 (half the bytes)',
      'F32',
    )
    .option('--chunk <n>', 'tokens that go through a window of the ring together, at most', String(MOST_CHUNK_TOKENS))
    .option(
      '--max-pressure <share>',
      'with --scheduler ring-aware: largest share of a device’s RAM that can’t be reclaimed, such as 0.06',
    )
    .option(
      '--prefetch <how>',
      `how all devices prefetch their next window while others compute: ${PREFETCHES.join(', ')} (default: as planned, or populate if it helps)`,
    )
    .option(
      '--release <how>',
      'how all devices release a window after it ran: none (the operating system decides), drop, or pinned, which keeps ' +
        'a prefix of every window (default: as planned, or pinned)',
    )
    .option('--link-delay <time>', LINK_DELAY_HELP)
    .addOption(OPTIONS.device);
}

/** @throws InputError for options that are wrong, or exclude each other */
export function readRingRequest(options: RingOptions): RingRequest {
  const { cluster, worker: workers, profile, plan, scheduler, device } = options;
  if ((cluster === undefined) === (workers.length === 0))
    throw new InputError('--cluster', 'or --worker is needed, but not both: a file of the devices, or their addresses');
  return {
    ...{ cluster, workers, profile, plan, device },
    measure: options.measure === true,
    keys: readLinkKeys(options),
    scheduler: optional(scheduler, (name) => readChoice('--scheduler', name, RING_SCHEDULERS)),
    activations: readChoice('--activations', options.activations, ACTIVATION_FORMATS),
    chunk: readCount('--chunk', options.chunk, FEWEST_CHUNK_TOKENS, MOST_CHUNK_TOKENS),
    memory: readDeviceMemory(options.memory),
    memoryLimit: deviceMemoryLimit(options.memory),
    maxPressure: readMaxPressure(options),
    linkDelay: readLinkDelay(options.linkDelay),
    requested: {
      prefetch: optional(options.prefetch, (how) => readChoice('--prefetch', how, PREFETCHES)),
      release: optional(options.release, (how) => readChoice('--release', how, RELEASES)),
    },
  };
}

/** @throws InputError unless `ring-aware` makes the plan, since no other scheduler keeps to a limit */
function readMaxPressure({ maxPressure, scheduler }: RingOptions): number | undefined {
  if (maxPressure === undefined) return undefined;
  if (scheduler !== 'ring-aware')
    throw new InputError('--max-pressure', 'is a limit that only ring-aware keeps to; add --scheduler ring-aware');
  return readNumber('--max-pressure', maxPressure, 0.001, 1);
}
