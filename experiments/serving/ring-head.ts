import { readFileSync, writeFileSync } from 'node:fs';
import { openRing } from '../../commands/open-ring.ts';
import { createServeCommand } from '../../commands/serve-options.ts';
import { PAGE_TOKENS } from '../../engine/batch/request-policy.ts';
import type { StreamedRequest } from '../../engine/batch/request-stream.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { isRecurrent } from '../../engine/model/layer-kind.ts';
import type { ProcessorClock } from '../../engine/profile/processor-clock.ts';
import { ringSequences } from '../../engine/ring/head/ring-sequences.ts';
import { createRingTexts } from '../../engine/ring/head/ring-texts.ts';
import type { HostSeconds } from '../../simulator/systems/serving.ts';
import { type Driven, driveEngine } from './drive.ts';
import { probeEngine } from './engine-probe.ts';

/** Task of a ring's head: what it serves. */
export interface RingTask {
  /** Tokens that a text can have, and texts at the same time. */
  readonly context: number;
  readonly texts: number;
  readonly passTokens: number;
  readonly requests: readonly StreamedRequest[];
  readonly clients: number | undefined;
  /** Whether the engine's own time is measured first, by passes of the ring. */
  readonly probesEngine: boolean;
}

export interface RingDriven extends Driven {
  /** If it was measured. */
  readonly host: HostSeconds | undefined;
  /** When requests began to be sent, and when the last was answered, seconds since 1970. */
  readonly during: readonly [from: number, to: number];
}

/** A ring waits for its devices, not for a processor: its times are those of the wall clock. */
const WALL: ProcessorClock = {
  async time(run) {
    const start = performance.now();
    await run();
    const wall = (performance.now() - start) / 1000;
    return { wall, own: wall };
  },
};

/**
 * The head of a ring that serves requests with the engine of `hearth serve`, and ends: `TASK RESULT [options of hearth
 * serve]`. It reads a RingTask from the first file and writes a RingDriven to the second.
 */
const [taskFile = '', resultFile = '', ...options] = process.argv.slice(2);
const task = JSON.parse(readFileSync(taskFile, 'utf8')) as RingTask;
const command = createServeCommand(async ({ model, kvCache, kernels, place: { ring: request } }) => {
  if (request === undefined) throw new InputError('--cluster', 'is missing; give the devices of a ring');
  const { context, texts, passTokens, requests, clients, probesEngine } = task;
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const size = { context, requests: texts, pageTokens: PAGE_TOKENS };
  const asked = { ...request, ...size, trace: false, saveCluster: undefined, log };
  const { ring, model: shape, close } = await openRing({ ...asked, model, kvCache, kernels });
  const pages = texts * Math.ceil(context / PAGE_TOKENS);
  const opened = createRingTexts(ring, {
    contextLength: context,
    pages,
    pageTokens: PAGE_TOKENS,
    isRecurrent: isRecurrent(shape),
  });
  const sequences = ringSequences({ model: shape, texts: opened, mostTokens: passTokens });
  const host = probesEngine ? await probeEngine(sequences) : undefined;
  const warmUp = [{ arrival: 0, promptTokens: 1, outputTokens: 1 }];
  await driveEngine(sequences, WALL, { requests: warmUp, clients: 1 });
  const from = Date.now() / 1000;
  const driven = await driveEngine(sequences, WALL, { requests, clients });
  const result: RingDriven = { ...driven, host, during: [from, Date.now() / 1000] };
  writeFileSync(resultFile, JSON.stringify(result));
  await close();
});
await command.parseAsync(options, { from: 'user' });
process.exit(0);
