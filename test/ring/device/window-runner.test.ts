import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createWindowRunner } from '../../../engine/ring/device/window-runner.ts';
import type { FrameSegment } from '../../../engine/ring/wire/frame.ts';
import type { WindowPart } from '../../../engine/runtime/gpu-layers.ts';

/** A runner of one window under a plan of two requests of 16 tokens in pages of four, and what it forwards. */
function runner() {
  const model = { hiddenSize: 1, layers: 2 };
  const stream = new Float32Array(8);
  const part = {
    model,
    stream: (tokens: number) => stream.subarray(0, tokens),
    createCaches: () => new Map(),
    freeCaches: () => {},
    run: async () => {},
  };
  const forwarded: (readonly FrameSegment[])[] = [];
  const failures: Error[] = [];
  const own = createWindowRunner({
    ...{ epoch: 7, windowCount: 2, context: 16, requests: 2, pageTokens: 4, chunk: 8 },
    windows: [{ index: 0, from: 0, to: 2, onGpu: [], next: { kind: 'head' } }],
    ...{ kvCache: 'F32', activations: 'F32' },
    part: part as unknown as WindowPart,
    senderOf: () => 'a',
    forward: ({ segments }) => void forwarded.push(segments),
    onFailed: (error) => failures.push(error),
    record: () => {},
    weights: undefined,
  });
  const accept = (...given: (Pick<FrameSegment, 'position' | 'tokens' | 'pages'> & { request?: number })[]): string => {
    const segments = given.map((one) => ({ request: 1, rows: 0, multiplied: undefined, ...one }));
    const payload = new Uint8Array(4 * segments.reduce((sum, { tokens }) => sum + tokens, 0));
    const frame = { epoch: 7, window: 0, segments, isFollowed: false, sentAt: 0, payload } as const;
    try {
      own.accept({ ...frame, kind: 'activations', format: 'F32' }, 'a');
    } catch (error) {
      return `${(error as Error).name}: ${(error as Error).message}`;
    }
    return 'accepted';
  };
  return { accept, forwarded, failures, end: own.end };
}

test('frames whose pages do not fit the plan or the tokens before are refused, and nothing of them is run', async () => {
  const { accept, forwarded, failures, end } = runner();
  const refused = [
    accept({ position: 15, tokens: 2, pages: [0, 1, 2, 3, 4] }),
    accept({ position: 0, tokens: 5, pages: [0] }),
    accept({ position: 0, tokens: 4, pages: [8] }),
    accept({ position: 0, tokens: 1, pages: [3] }, { request: 2, position: 0, tokens: 1, pages: [3] }),
  ];
  assert.equal(refused, [
    'FrameError: 2 tokens, up to 17; the plan has 8, up to 16, at most',
    'FrameError: 1 pages for 5 tokens; they need 2 of 4',
    'FrameError: page 8; the plan has 8',
    'FrameError: page 3, which two requests of a frame write to',
  ]);
  assert.is(accept({ position: 0, tokens: 3, pages: [5] }), 'accepted');
  assert.is(accept({ position: 4, tokens: 1, pages: [5, 6] }), 'FrameError: token 4 of request 1; the next one is 3');
  // Whoever should have sent its beginning has failed and told the head.
  assert.is(accept({ request: 2, position: 4, tokens: 1, pages: [1, 2] }), 'accepted');
  while (forwarded.length < 1 && failures.length === 0) await new Promise(setImmediate);
  await end();
  assert.equal(
    forwarded.map((segments) => segments.map(({ pages }) => pages)),
    [[[5]]],
  );
  assert.equal(failures, []);
});

test('a segment may go on in full pages of another', async () => {
  const { accept, forwarded, failures, end } = runner();
  assert.is(accept({ position: 0, tokens: 6, pages: [5, 2] }), 'accepted');
  const others = [
    { position: 6, tokens: 1, pages: [5, 2] },
    { request: 2, position: 4, tokens: 2, pages: [5, 0] },
  ];
  assert.is(accept(...others), 'accepted');
  while (forwarded.length < 2 && failures.length === 0) await new Promise(setImmediate);
  assert.equal(failures, []);
  assert.equal(
    forwarded.map((segments) => segments.map(({ pages }) => pages)),
    [
      [[5, 2]],
      [
        [5, 2],
        [5, 0],
      ],
    ],
  );
  await end();
});

test.run();
