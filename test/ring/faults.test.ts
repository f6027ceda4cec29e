import { spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { recoveringRing } from '../../engine/ring/head/lost-worker.ts';
import { createRingTexts, ringModel } from '../../engine/ring/head/ring-texts.ts';
import { floatVector, madeFile } from '../runtime/made-file.ts';
import { startWorkerProcess, startWorkerThatHangs, until } from './processes.ts';
import {
  equalLayout,
  headHere,
  layoutOf,
  recoveringHere,
  requestOf,
  SETTINGS,
  wholeTexts,
  workerHere,
} from './ring-in-process.ts';

const test = suite('devices and links that fail');
const LAYERS = 4;
/** Seconds within which the head must notice a lost device, and a worker a lost head. */
const KNOWN = 5;
const FREED = 5;
const ON_LINUX = process.platform === 'linux';
type WorkerProcess = Awaited<ReturnType<typeof startWorkerProcess>>;
/** At SIGUSR2 its main thread hangs, while libzmq's thread goes on answering heartbeats. */
type Signal = 'SIGKILL' | 'SIGSTOP' | 'SIGUSR2';
type Moment = 'prefill' | 'decode' | 'between';
const CASES: readonly [Signal, Moment][] = [
  ['SIGKILL', 'prefill'],
  ['SIGKILL', 'decode'],
  ['SIGKILL', 'between'],
  ['SIGSTOP', 'decode'],
  ['SIGUSR2', 'prefill'],
  ['SIGUSR2', 'decode'],
];
let [folder, path] = ['', ''];
/** The first worker stays in all cases; each case loses one of the others. */
let workers: WorkerProcess[] = [];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-ring-'));
  path = await madeFile({ folder, name: 'four', shape: { layers: LAYERS } });
  workers = await Promise.all(
    [undefined, ...CASES, undefined].map((one) =>
      one?.[0] === 'SIGUSR2' ? startWorkerThatHangs(path) : startWorkerProcess(path),
    ),
  );
});
test.after(() => {
  for (const { running } of workers) running.child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

const ones = ([length = 0]: readonly number[]): number[] => Array.from({ length }, (_, index) => 1 + (index % 7));
const greedy = (logits: Float32Array): number => logits.indexOf(Math.max(...logits));
const PROMPT = Array.from({ length: 100 }, (_, i) => (7 * i) % 260);

/** Runs a request with a head in this process and two workers; `b` gets the signal at the given moment. */
async function interrupted([signal, moment]: readonly [Signal, Moment], a: WorkerProcess, b: WorkerProcess) {
  const members = [a, b].map(({ address }, index) => ({ name: 'ab'[index] as string, address, publicKey: undefined }));
  const { head, log } = headHere(path, members);
  await head.gather();
  const ring = recoveringHere({ head, log }, LAYERS);
  const model = ringModel(createRingTexts(ring, wholeTexts(SETTINGS.context)));
  const tokens: number[] = [];
  let struck = 0;
  const strike = (): void => {
    struck = performance.now();
    process.kill(b.running.pid, signal);
  };
  await ring.ready();
  let under = model.evaluate(PROMPT);
  if (moment === 'prefill') strike();
  for (let step = 0; step < 4; step++) {
    const next = greedy(await under);
    tokens.push(next);
    if (moment === 'between' && step === 1) {
      strike();
      await until('the loss is known', KNOWN, () => log.some((line) => line.startsWith('lost b')));
    }
    under = model.evaluate([next]);
    if (moment === 'decode' && step === 1) strike();
  }
  await under;
  const seconds = (performance.now() - struck) / 1000;
  return { head, log, tokens, seconds };
}

/** The same tokens without a fault, computed by one process. */
let expected: number[] | undefined;
async function undisturbed(): Promise<number[]> {
  if (expected !== undefined) return expected;
  const { head } = headHere(path, []);
  await head.assemble(equalLayout(['head'], LAYERS));
  const request = requestOf(head);
  const tokens: number[] = [];
  let logits = await request.evaluate(PROMPT);
  for (let step = 0; step < 4; step++) {
    tokens.push(greedy(logits));
    logits = await request.evaluate([tokens[step] as number]);
  }
  await head.close();
  expected = tokens;
  return tokens;
}

for (const [index, [signal, moment]] of CASES.entries()) {
  test(`after ${signal} in ${moment} the device is named within ${KNOWN} s and the request continues without it`, async () => {
    const [a, b] = [workers[0] as WorkerProcess, workers[index + 1] as WorkerProcess];
    const { head, log, tokens, seconds } = await interrupted([signal, moment], a, b);
    assert.ok(
      log.some((line) => /^lost b: the connection is cut$|^b: the link from a to it is gone/.test(line)),
      log.join('\n'),
    );
    assert.ok(log.includes('continues with head, a'), log.join('\n'));
    assert.ok(seconds < KNOWN, `${seconds} s until the request had gone on`);
    assert.equal(tokens, await undisturbed());
    await head.close();
    await until('the other worker frees its memory', FREED, () => /freed\n$/.test(a.running.stderr));
  });
}

test('a worker that comes back rejoins the ring of the request', async () => {
  const first = await workerHere('a', path, { headKeys: undefined, address: 'tcp://127.0.0.1:7471' });
  const { head, log } = headHere(path, [first.member]);
  await head.gather();
  const ring = recoveringHere({ head, log }, LAYERS);
  const model = ringModel(createRingTexts(ring, wholeTexts(64)));
  await model.evaluate([1, 2, 3]);
  await first.worker.close();
  await model.evaluate([4]);
  const second = await workerHere('a', path, { headKeys: undefined, address: 'tcp://127.0.0.1:7471' });
  await until('the return', KNOWN, () => log.includes('a is back'));
  await model.evaluate([5]);
  assert.equal(
    log.filter((line) => !line.startsWith('lost')),
    ['continues with head', 'a is back', 'continues with head, a'],
  );
  await head.close();
  await second.worker.close();
});

test('the request ends with the reason if the remaining devices can’t hold the model', async () => {
  const { worker, member } = await workerHere('a', path, { headKeys: undefined });
  const { head, log } = headHere(path, [member], { memory: 2 ** 16 });
  await head.gather();
  const windows = (devices: readonly string[]) => equalLayout(devices.length > 1 ? ['a'] : devices, LAYERS);
  const ring = recoveringRing(head, windows, (line) => log.push(line));
  const model = ringModel(createRingTexts(ring, wholeTexts(SETTINGS.context)));
  await model.evaluate([1, 2]);
  await worker.close();
  const message = await model.evaluate([3]).then(
    () => '',
    (error: Error) => error.message,
  );
  assert.is(message, 'head: 4 layers need 1.00 MiB of KV cache; 64.0 KiB are available: use a shorter context');
  await head.close();
});

test('a worker keeps to the model file that it opened, also when another one has taken its path', async () => {
  const own = join(folder, 'own.gguf');
  copyFileSync(path, own);
  const { worker, member } = await workerHere('a', own, { headKeys: undefined });
  const replacement = await madeFile({
    folder,
    name: 'four',
    shape: { layers: LAYERS },
    edit: (tensors) =>
      tensors.map((one) =>
        one.type === 'F32' && one.shape.length === 1 ? floatVector(one.name, ones(one.shape)) : one,
      ),
  });
  renameSync(replacement, own);
  await madeFile({ folder, name: 'four', shape: { layers: LAYERS } });
  const { head } = headHere(path, [member]);
  await head.gather();
  await head.assemble(equalLayout(['head', 'a'], LAYERS));
  const request = requestOf(head);
  assert.is(greedy(await request.evaluate(PROMPT)), (await undisturbed())[0]);
  await head.close();
  await worker.close();
});

/** A link through this process that can be made silent, as if its packets were dropped. */
async function fragileLink(port: number) {
  const sockets: Socket[] = [];
  const server = createServer((near) => {
    const far = connectSocket(port, '127.0.0.1');
    for (const socket of [near, far]) socket.on('error', () => {});
    near.pipe(far).pipe(near);
    sockets.push(near, far);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.2', resolve));
  return {
    cut(): void {
      for (const socket of sockets) socket.unpipe().pause();
    },
    close(): void {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** Bytes per second and bytes of a piece of a slow link; a frame takes longer than a peer may be silent. */
const SLOW = 65_536;
const PIECE = 4096;
/** Milliseconds. */
const PERIOD = 125;

test('a frame that takes five seconds on a slow link is no lost device', async () => {
  const wide = { layers: 1, hiddenSize: 2048, ffnSize: 64, heads: 2, kvHeads: 1, headSize: 8 };
  const file = await madeFile({ folder, name: 'wide', shape: wide });
  const { worker, member } = await workerHere('a', file, { headKeys: undefined });
  const server = createServer((near) => {
    const far = connectSocket(Number(new URL(member.address).port), '127.0.0.1');
    far.pipe(near);
    for (const socket of [near, far])
      socket.on('error', () => {}).on('close', () => [near, far].map((one) => one.destroy()));
    const waiting: Buffer[] = [];
    near.on('data', (bytes) => {
      for (let at = 0; at < bytes.length; at += PIECE) waiting.push(bytes.subarray(at, at + PIECE));
    });
    const timer = setInterval(() => {
      for (let left = (SLOW * PERIOD) / 1000; left > 0 && waiting.length > 0; left -= PIECE)
        far.write(waiting.shift() as Buffer);
    }, PERIOD);
    near.on('close', () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const { head, log } = headHere(file, [{ ...member, address: `tcp://127.0.0.1:${port}` }], {
    settings: { ...SETTINGS, chunk: 64 },
  });
  await head.gather();
  await head.assemble(layoutOf([{ device: 'a', from: 0, to: 1 }]));
  const start = performance.now();
  // Forty tokens of 8 KiB.
  assert.is((await requestOf(head).evaluate(PROMPT.slice(0, 40))).length, 260);
  assert.ok(performance.now() - start > 3500);
  assert.equal(
    log.filter((line) => !line.startsWith('waits for a: ')),
    [],
  );
  await head.close();
  await worker.close();
  server.close();
});

if (ON_LINUX) {
  test('after a link between two workers is cut its receiver is named and excluded', async () => {
    const [a, b] = await Promise.all([
      workerHere('a', path, { headKeys: undefined }),
      workerHere('b', path, { headKeys: undefined, address: 'tcp://127.0.0.1:7481' }),
    ]);
    const [control, link] = await Promise.all([fragileLink(7481), fragileLink(7482)]);
    const { head, log } = headHere(path, [a.member, { ...b.member, address: 'tcp://127.0.0.2:7481' }]);
    await head.gather();
    const ring = recoveringHere({ head, log }, LAYERS);
    const model = ringModel(createRingTexts(ring, wholeTexts(64)));
    await model.evaluate([1, 2, 3]);
    link.cut();
    const start = performance.now();
    await model.evaluate([4]);
    assert.ok(performance.now() - start < 1000 * KNOWN);
    assert.ok(log.includes('continues with head, a'), log.join('\n'));
    assert.ok(a.log.includes('the link to b is gone: the connection is cut'), a.log.join('\n'));
    await head.close();
    await Promise.all([a.worker.close(), b.worker.close()]);
    control.close();
    link.close();
  });

  for (const signal of ['SIGKILL', 'SIGSTOP'] as const)
    test(`a worker frees its memory and sockets within ${FREED} s after its head's ${signal}`, async () => {
      const { running, address } = workers.at(-1) as WorkerProcess;
      // Caches take memory only as they fill: their address space shows whether they exist.
      const reserved = (): number =>
        Number(/VmSize:\s+(\d+) kB/.exec(readFileSync(`/proc/${running.pid}/status`, 'utf8'))?.[1]) * 1024;
      const sockets = (): number => readdirSync(`/proc/${running.pid}/fd`).length;
      // After a first head some memory remains that belongs to no request: code, and a thread's heap.
      const first = headHere(path, [{ name: 'w', address, publicKey: undefined }]);
      await first.head.gather();
      await first.head.assemble(equalLayout(['w'], LAYERS));
      await first.head.close();
      await until('the first head is forgotten', KNOWN, () => /freed\n$/.test(running.stderr));
      const idle = { reserved: reserved(), sockets: sockets(), said: running.stderr.length };
      // 128 MiB of KV cache: 4 layers of 2 heads of 32 values of four bytes, twice, for 65,536 tokens.
      const script = join(import.meta.dirname, 'held-head.ts');
      const head = spawn(process.execPath, ['--import', 'tsx', script, path, address]);
      await until('the caches are there', 120, () => reserved() > idle.reserved + 100 * 2 ** 20);
      head.kill(signal);
      const seconds = await until(
        'the worker says that its memory is freed',
        FREED,
        () =>
          running.stderr.slice(idle.said).includes('head: is gone; its memory is freed') &&
          reserved() < idle.reserved + 40 * 2 ** 20,
      );
      assert.ok(seconds < FREED);
      await until('its sockets are closed', 1, () => sockets() <= idle.sockets);
      head.kill('SIGKILL');
    });
}

test.run();
