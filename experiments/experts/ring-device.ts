import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { MOST_CHUNK_TOKENS } from '../../engine/batch/pass-frames.ts';
import type { ExpertReads } from '../../engine/experts/expert-reads.ts';
import { parseRoutings } from '../../engine/experts/recorded/parse-routings.ts';
import { layersOf, type Routing } from '../../engine/experts/routing.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { WeightsPolicy } from '../../engine/plan/weights-policy.ts';
import type { Window } from '../../engine/plan/windows.ts';
import { type LoadedPart, loadPart } from '../../engine/ring/device/loaded-part.ts';
import { startWorker } from '../../engine/ring/device/worker.ts';
import { startHead } from '../../engine/ring/head/head.ts';
import type { MeasuredRingLink } from '../../engine/ring/head/inquiries.ts';
import { replayedRoutes } from '../../engine/runtime/observed/replayed-routes.ts';

/** A process that is a device of a ring, whose tokens use the experts of a recorded or drawn routing. */
export interface RingDeviceTask {
  readonly device: string;
  readonly model: string;
  /** A file with a single routing of the model's shape. */
  readonly routing: string;
  /** Places of the device's layers among those with experts. */
  readonly places: readonly number[];
  /** Bytes for weights, caches and activations. */
  readonly memory: number;
  readonly threads: number;
  /** Tokens that are run, one after the other, and those at the beginning that fill the caches. */
  readonly tokens: number;
  readonly warmUp: number;
  /** The ring, for its head; `undefined` for a worker. */
  readonly ring:
    | {
        /** Names and addresses of the workers, in ring order. */
        readonly workers: readonly { readonly name: string; readonly address: string }[];
        readonly windows: readonly Window[];
        readonly weights: Readonly<Record<string, WeightsPolicy>>;
      }
    | undefined;
}

/** Printed by a head in front of the first token that counts, which waits for an answer on its standard input. */
export const WARM = 'warm';

/** Printed by a head at the end. */
export interface RingMeasured {
  /** Seconds of each token. */
  readonly seconds: readonly number[];
  /** Reads of each device since the ring was assembled: [tokens][devices], the head first. */
  readonly reads: readonly (readonly ExpertReads[])[];
  readonly links: readonly MeasuredRingLink[];
}

/** Printed by a worker once it listens. */
export interface RingListening {
  readonly address: string;
}

async function main(): Promise<void> {
  const task = JSON.parse(process.argv[2] ?? '') as RingDeviceTask;
  const native = openKernels({ implementation: 'native', threads: task.threads });
  const [routing] = [...parseRoutings(readFileSync(task.routing, 'utf8'), task.routing).values()] as [Routing];
  const own = layersOf(routing, task.places);
  // Experts are cached on kernels of their own, whose routers are told what to choose.
  const again = (): Kernels => replayedRoutes(native.again?.() ?? native, own);
  const loaded = loadPart(task.model, { ...native, again }, MOST_CHUNK_TOKENS);
  if (task.ring === undefined) await serve(task, loaded);
  else await run(task, task.ring, loaded);
}

/** A worker until it is ended. */
async function serve({ memory }: RingDeviceTask, loaded: LoadedPart): Promise<void> {
  const { address } = await startWorker({
    ...{ loaded, gpu: undefined, keys: undefined, heads: [], memory, memoryLimit: memory, log },
    address: 'tcp://127.0.0.1:*',
    profile: async () => '{}',
  });
  const listening: RingListening = { address };
  process.stdout.write(`${JSON.stringify(listening)}\n`);
}

/** The head of a ring, which runs the tokens and prints a RingMeasured as JSON. */
async function run(
  { device, memory, tokens, warmUp }: RingDeviceTask,
  { workers, windows, weights }: NonNullable<RingDeviceTask['ring']>,
  loaded: LoadedPart,
): Promise<void> {
  const head = startHead({
    ...{ name: device, loaded, gpu: undefined, keys: undefined, memory, memoryLimit: memory, log },
    members: workers.map((worker) => ({ ...worker, publicKey: undefined })),
    settings: {
      ...{ context: tokens, requests: 1, pageTokens: tokens, chunk: MOST_CHUNK_TOKENS, trace: false },
      ...{ kvCache: 'F16', activations: 'F32' },
    },
  });
  await head.gather();
  await head.assemble({ windows, weights });
  const links = await head.measure();
  const request = head.request();
  const seconds: number[] = [];
  const reads: ExpertReads[][] = [];
  for (let position = 0; position < tokens; position++) {
    if (position === warmUp) {
      process.stdout.write(`${WARM}\n`);
      await once(process.stdin, 'data');
      process.stdin.pause();
    }
    const begin = performance.now();
    const work = { request, pages: [0], tokens: [1 + (position % 200)], position, rows: 1, multiplied: undefined };
    await head.evaluate([work]);
    seconds.push((performance.now() - begin) / 1000);
    reads.push((await head.expertReads()).map(({ device: _, ...own }) => own));
  }
  const measured: RingMeasured = { seconds, reads, links };
  process.stdout.write(`${JSON.stringify(measured)}\n`);
  await head.close();
  loaded.close();
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

await main();
