import { copyFileSync, mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { LoadedPart } from '../../engine/ring/device/loaded-part.ts';
import { STILL_SECONDS } from '../../engine/ring/device/still-reads.ts';
import { recoveringRing } from '../../engine/ring/head/lost-worker.ts';
import { createRingTexts, ringModel } from '../../engine/ring/head/ring-texts.ts';
import type { MappedWeights } from '../../engine/runtime/weights/mapped-weights.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { madeFile } from '../runtime/made-file.ts';
import { testIf } from '../support/needs.ts';
import { HANG, type Running, startWorkerProcess, startWorkerThatHangs, until } from './processes.ts';
import {
  equalLayout,
  headHere,
  loadOnOneThread,
  recoveringHere,
  requestOf,
  wholeTexts,
  workerHere,
} from './ring-in-process.ts';

const LAYERS = 4;
const KNOWN = 5;
let [folder, path] = ['', ''];
const started: Running[] = [];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-ring-'));
  path = await madeFile({ folder, name: 'four', shape: { layers: LAYERS } });
});
test.after(() => {
  for (const { child } of started) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

/** A head's messages without those that it waits, which a busy machine adds. */
const withoutWaits = (log: readonly string[]): string[] => log.filter((line) => !line.startsWith('waits for w'));
const greedy = (logits: Float32Array): number => logits.indexOf(Math.max(...logits));
const isNative = NATIVE_SETS.length > 0;
const withNative = (name: string, body: () => Promise<void>): void =>
  testIf(isNative, 'the native kernels are not built', name, body);

/** A ring of this process, its head, and one worker process. */
async function ringWith({ running, address }: { readonly running: Running; readonly address: string }) {
  started.push(running);
  const { head, log } = headHere(path, [{ name: 'w', address, publicKey: undefined }]);
  await head.gather();
  const ring = recoveringHere({ head, log }, LAYERS);
  return { head, log, model: ringModel(createRingTexts(ring, wholeTexts(64))) };
}

/** The first tokens after a prompt, computed by one process. */
async function undisturbed(count: number): Promise<number[]> {
  const { head } = headHere(path, []);
  await head.assemble(equalLayout(['head'], LAYERS));
  const request = requestOf(head);
  const tokens: number[] = [];
  let logits = await request.evaluate([1, 2, 3]);
  for (let step = 0; step < count; step++) {
    tokens.push(greedy(logits));
    logits = await request.evaluate([tokens[step] as number]);
  }
  await head.close();
  return tokens;
}

withNative('a worker whose main thread moves again rejoins the ring', async () => {
  const worker = await startWorkerThatHangs(path);
  const { head, log, model } = await ringWith(worker);
  const tokens = [greedy(await model.evaluate([1, 2, 3]))];
  process.kill(worker.running.pid, 'SIGUSR2');
  await until('the hang', KNOWN, () => worker.running.stderr.includes('\nhangs\n'));
  const start = performance.now();
  tokens.push(greedy(await model.evaluate([tokens[0] as number])));
  assert.ok((performance.now() - start) / 1000 < KNOWN, log.join('\n'));
  assert.equal(withoutWaits(log), ['lost w: the connection is cut', 'continues with head']);
  const words = 'nothing has been computed or read for 2.5 s: cuts its connections, and serves again once it moves';
  await until('its words', KNOWN, () => worker.running.stderr.includes(`\n${words}\n`));
  await until('the return', HANG + KNOWN, () => log.includes('w is back'));
  tokens.push(greedy(await model.evaluate([tokens[1] as number])));
  assert.is(log.at(-1), 'continues with head, w');
  assert.equal(tokens, await undisturbed(3));
  await head.close();
});

withNative(`a worker that computes for ${HANG} s without an answer isn’t taken for one that hangs`, async () => {
  const worker = await startWorkerThatHangs(path);
  const { head, log, model } = await ringWith(worker);
  const first = greedy(await model.evaluate([1, 2, 3]));
  process.kill(worker.running.pid, 'SIGHUP');
  await until('the computation', KNOWN, () => worker.running.stderr.includes('\ncomputes\n'));
  const start = performance.now();
  await model.evaluate([first]);
  assert.ok((performance.now() - start) / 1000 > HANG - 1);
  // It is said whom the head waits for, and nobody is lost.
  assert.equal([...new Set(log.map((line) => line.split(':')[0]))], ['waits for w']);
  await head.close();
});

/** A part whose prefetches never end from the moment that `hang` is called until the promise that it is given ends. */
function hangingPart() {
  const loaded = loadOnOneThread(path);
  let until: Promise<void> | undefined;
  const mapWeights: LoadedPart['mapWeights'] = (recorder) => {
    const weights = loaded.mapWeights(recorder) as MappedWeights;
    const prefetch: MappedWeights['prefetch'] = (ranges, how) => {
      const task = weights.prefetch(ranges, how);
      const end = until;
      return end === undefined ? task : { ...task, isDone: () => false, settled: () => end };
    };
    return { ...weights, prefetch };
  };
  const hang = (end: Promise<void>): void => {
    until = end;
  };
  return { loaded: { ...loaded, mapWeights }, hang };
}

withNative('a worker whose prefetch hangs says so, serves nobody meanwhile, and rejoins the ring later', async () => {
  const { loaded, hang } = hangingPart();
  const w = await workerHere('w', path, { headKeys: undefined, loaded });
  const { head, log } = headHere(path, [w.member]);
  await head.gather();
  const weights = { w: { prefetch: 'populate', release: 'drop' } } as const;
  const layout = (devices: readonly string[]) => ({ ...equalLayout(devices, LAYERS), weights });
  const ring = recoveringRing(head, layout, (line) => log.push(line));
  const model = ringModel(createRingTexts(ring, wholeTexts(64)));
  const tokens = [greedy(await model.evaluate([1, 2, 3]))];
  let move = (): void => {};
  hang(
    new Promise((resolve) => {
      move = resolve;
    }),
  );
  // The prefetch for the next token is done already; that for the one after it hangs.
  const delay = monitorEventLoopDelay();
  delay.enable();
  for (let step = 0; step < 2; step++) tokens.push(greedy(await model.evaluate([tokens[step] as number])));
  delay.disable();
  const [lost = '', ...rest] = withoutWaits(log);
  assert.equal(rest, ['continues with head']);
  const seconds = Number(/^lost w: its disk has delivered no weights for (\d\.\d) s$/.exec(lost)?.[1]);
  // Reads are sampled by a timer of this thread, which may itself be late.
  const late = delay.max / 1e9;
  assert.ok(seconds >= STILL_SECONDS && seconds < 4 + late, `${lost} (timers were up to ${late.toFixed(1)} s late)`);
  await until('the refusal', KNOWN, () => w.log.some((line) => line.startsWith('refused head: it can’t compute: ')));
  move();
  await until('the return', KNOWN, () => log.includes('w is back'));
  tokens.push(greedy(await model.evaluate([tokens[2] as number])));
  assert.is(log.at(-1), 'continues with head, w');
  assert.equal(tokens, await undisturbed(4));
  await head.close();
  await w.worker.close();
});

withNative('a worker whose file is cut tells its head why, ends with code 2, and the others go on', async () => {
  const own = join(folder, 'cut.gguf');
  copyFileSync(path, own);
  const worker = await startWorkerProcess(own);
  const { head, log, model } = await ringWith(worker);
  const tokens = [greedy(await model.evaluate([1, 2, 3]))];
  truncateSync(own, 10_000);
  const start = performance.now();
  tokens.push(greedy(await model.evaluate([tokens[0] as number])));
  assert.ok((performance.now() - start) / 1000 < KNOWN);
  assert.equal(tokens, await undisturbed(2));
  const reason = `${own}: has shrunk from SIZE to 10000 bytes while it was in use; restore it and start again`;
  assert.equal(
    log.map((line) => line.replace(/from \d+ to/, 'from SIZE to')),
    [`lost w: ${reason}`, 'continues with head'],
  );
  assert.is(await worker.running.ended, 2, worker.running.stderr);
  assert.is(
    worker.running.stderr
      .trimEnd()
      .split('\n')
      .at(-1)
      ?.replace(/from \d+ to/, 'from SIZE to'),
    reason,
  );
  await head.close();
});

test.run();
