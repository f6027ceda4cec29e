import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRingTexts, ringModel } from '../../engine/ring/head/ring-texts.ts';
import type { ActivationFrame, FrameSegment } from '../../engine/ring/wire/frame.ts';
import { madeFile } from '../runtime/made-file.ts';
import { type Lie, lie } from './lying.ts';
import { until } from './processes.ts';
import {
  equalLayout,
  headHere,
  layoutOf,
  recoveringHere,
  requestOf,
  wholeTexts,
  workerHere,
} from './ring-in-process.ts';

const test = suite('devices that lie about results');
const LAYERS = 4;
/** Results that are right before the first lie: the prompt's, and those of the next tokens. */
const HONEST = 3;
const TOKENS = 6;
let [folder, path] = ['', ''];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-ring-'));
  path = await madeFile({ folder, name: 'four', shape: { layers: LAYERS } });
});
test.after(() => rmSync(folder, { recursive: true }));

const greedy = (logits: Float32Array): number => logits.indexOf(Math.max(...logits));

async function tokensOf(evaluate: (tokens: readonly number[]) => Promise<Float32Array>): Promise<number[]> {
  const tokens: number[] = [];
  for (let more = [5, 6, 7]; tokens.length < TOKENS; more = tokens.slice(-1)) tokens.push(greedy(await evaluate(more)));
  return tokens;
}

let expected: number[] | undefined;
async function alone(): Promise<number[]> {
  if (expected !== undefined) return expected;
  const { head } = headHere(path, []);
  await head.assemble(equalLayout(['head'], LAYERS));
  const { evaluate } = requestOf(head);
  expected = await tokensOf(evaluate);
  await head.close();
  return expected;
}

const withSegment =
  (change: (segment: FrameSegment) => FrameSegment): Lie =>
  (frame) => [{ ...frame, segments: frame.segments.map(change) }];
const kept: ActivationFrame[] = [];

/** The second of equal frames may arrive before the next frame is sent, or after. */
const REPEATED =
  /^frame 3 for window 2, (while none is on its way there|whose number is not that of frame 4, which was sent there)$/;

/** A device's lie from its fourth result on, and how the head names it. */
const LIES: readonly (readonly [what: string, lie: Lie, reason: RegExp])[] = [
  ['sends each twice', (frame) => [frame, frame], REPEATED],
  ['sends each a hundred times', (frame) => Array.from({ length: 100 }, () => frame), REPEATED],
  [
    'sends one of earlier first',
    (frame) => [...kept.splice(0, 1), frame],
    /^frame 2 for window 2, whose number is not that of frame 3, which was sent there$/,
  ],
  [
    'says another window',
    (frame) => [{ ...frame, window: 1 }],
    /^activations for window 1, which a doesn’t send here$/,
  ],
  [
    'says another assembly',
    (frame) => [{ ...frame, epoch: (frame.epoch + 1) % 2 ** 32 }],
    /^activations of assembly \d+, which this/,
  ],
  [
    'says another request',
    withSegment((one) => ({ ...one, request: one.request + 1000 })),
    /whose segments is not that/,
  ],
  [
    'says another position',
    withSegment((one) => ({ ...one, position: one.position + 1 })),
    /whose segments is not that/,
  ],
  [
    'says other pages',
    withSegment((one) => ({ ...one, pages: one.pages.map((page) => page + 1) })),
    /whose segments is/,
  ],
  ['says other rows', withSegment((one) => ({ ...one, rows: 0 })), /^1024 bytes of F32 for 0 rows$/],
  [
    'adds copies of pages',
    (frame) => [{ ...frame, copies: [{ from: 0, to: 1, tokens: 1 }] }],
    /whose copies is not that/,
  ],
  [
    'adds a request',
    (frame) => [
      { ...frame, segments: [...frame.segments, { ...(frame.segments[0] as FrameSegment), request: 9, rows: 0 }] },
    ],
    /whose segments is not that/,
  ],
  ['says that another frame follows', (frame) => [{ ...frame, isFollowed: true }], /whose isFollowed is not that/],
  [
    'leaves out a value',
    (frame) => [{ ...frame, payload: frame.payload.subarray(4) }],
    /^1020 bytes of F32 for 1 rows$/,
  ],
  [
    'sends 16 MiB',
    (frame) => [{ ...frame, payload: new Uint8Array(2 ** 24) }],
    /^a frame of 167\d+ bytes; at most \d+ are allowed$/,
  ],
];

for (const [what, about, reason] of LIES)
  test(`a device that ${what} is left out by name, and the text is right`, async () => {
    const { worker, member } = await workerHere('a', path, { headKeys: undefined });
    const { head, log } = headHere(path, [member]);
    await head.gather();
    const model = ringModel(createRingTexts(recoveringHere({ head, log }, LAYERS), wholeTexts(64)));
    kept.length = 0;
    let results = 0;
    const end = lie('to the head', (frame) => {
      results += 1;
      if (results === HONEST) kept.push({ ...frame, payload: frame.payload.slice() });
      return results > HONEST ? about(frame) : [frame];
    });
    try {
      assert.equal(await tokensOf(model.evaluate), await alone());
    } finally {
      end();
    }
    const [lost = '', ...after] = log.filter((line) => line !== 'continues with head');
    assert.match(lost.replace('lost a: it sent ', ''), reason);
    assert.equal(after, []);
    await head.close();
    await worker.close();
  });

test('a device that lies to the next one is left out, not the one that finds it', async () => {
  const [a, b] = await Promise.all(['a', 'b'].map((name) => workerHere(name, path, { headKeys: undefined })));
  if (a === undefined || b === undefined) throw new Error('no workers');
  const { head, log } = headHere(path, [a.member, b.member]);
  await head.gather();
  const model = ringModel(createRingTexts(recoveringHere({ head, log }, LAYERS), wholeTexts(64)));
  let results = 0;
  // From head, a and b, a alone sends to a device's second window.
  const end = lie('to devices', (frame) => (frame.window === 2 && results++ >= HONEST ? [frame, frame] : [frame]));
  try {
    assert.equal(await tokensOf(model.evaluate), await alone());
  } finally {
    end();
  }
  assert.equal(log, ['lost a: b got from it frame 3 for window 2; the next one is 4', 'continues with head, b']);
  await head.close();
  await Promise.all([a.worker.close(), b.worker.close()]);
});

test('the head says after three seconds whom it waits for, and a late result still counts', async () => {
  const { worker, member } = await workerHere('a', path, { headKeys: undefined });
  const { head, log } = headHere(path, [member]);
  await head.gather();
  await head.assemble(layoutOf([{ device: 'a', from: 0, to: LAYERS }]));
  const request = requestOf(head);
  const end = lie('to the head', async (frame) => {
    await until('the head says whom it waits for', 10, () => log.length > 0);
    return [frame];
  });
  const found = greedy(await request.evaluate([5, 6, 7]));
  end();
  assert.is(found, (await alone())[0]);
  assert.is(log.length, 1);
  assert.match(log[0] as string, /^waits for a: no result for 3\.\d+ s$/);
  await head.close();
  await worker.close();
});

test('a device that sends no numbers is named', async () => {
  const { worker, member } = await workerHere('a', path, { headKeys: undefined });
  const { head } = headHere(path, [member]);
  await head.gather();
  await head.assemble(layoutOf([{ device: 'a', from: 0, to: LAYERS }]));
  const end = lie('to the head', (frame) => [{ ...frame, payload: new Uint8Array(frame.payload.length).fill(0xff) }]);
  const reason = await requestOf(head)
    .evaluate([5, 6, 7])
    .then(String, (error: Error) => error.message);
  end();
  assert.match(reason, /^a: sent activations that are not numbers: /);
  await head.close();
  await worker.close();
});

test.run();
