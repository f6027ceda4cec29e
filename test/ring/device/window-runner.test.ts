import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { TINY } from '../../../engine/gguf/make/made-model.ts';
import { referenceKernels } from '../../../engine/kernels/reference/reference-kernels.ts';
import { uniformShape } from '../../../engine/model/architecture.ts';
import { createWindowRunner } from '../../../engine/ring/device/window-runner.ts';
import type { FrameSegment, PageCopy } from '../../../engine/ring/wire/frame.ts';
import type { WindowPart } from '../../../engine/runtime/split/gpu-layers.ts';

/** A runner of one window under a plan of two requests of 16 tokens in pages of four, and what it forwards. */
function runner() {
  const model = uniformShape({ ...TINY, hiddenSize: 1, layers: 2, heads: 1, kvHeads: 1, headSize: 4 });
  const kernels = referenceKernels();
  const stream = new Float32Array(8);
  const part = {
    model,
    stream: (tokens: number) => stream.subarray(0, tokens),
    kernelsOf: () => kernels,
    run: async () => {},
  };
  const forwarded: (readonly FrameSegment[])[] = [];
  const copied: PageCopy[] = [];
  const failures: Error[] = [];
  const own = createWindowRunner({
    ...{ epoch: 7, windowCount: 2, context: 16, requests: 2, pageTokens: 4, chunk: 8 },
    windows: [{ index: 0, from: 0, to: 2, onGpu: [], next: { kind: 'head' } }],
    ...{ kvCache: 'F32', activations: 'F32' },
    part: part as unknown as WindowPart,
    senderOf: () => 'a',
    forward: ({ segments, copies }) => {
      forwarded.push(segments);
      copied.push(...copies);
    },
    onFailed: (error) => failures.push(error),
    record: () => {},
    weights: undefined,
  });
  let number = 0;
  type Given = Pick<FrameSegment, 'position' | 'tokens' | 'pages'> & { request?: number };
  const accept = (...given: Given[]): string => acceptAfter([], ...given);
  const acceptAfter = (copies: readonly PageCopy[], ...given: Given[]): string => {
    const segments = given.map((one) => ({ request: 1, rows: 0, multiplied: undefined, ...one }));
    const payload = new Uint8Array(4 * segments.reduce((sum, { tokens }) => sum + tokens, 0));
    const frame = { epoch: 7, number, window: 0, copies, segments, isFollowed: false, sentAt: 0, payload } as const;
    try {
      own.accept({ ...frame, kind: 'activations', format: 'F32' }, 'a');
    } catch (error) {
      return `${(error as Error).name}: ${(error as Error).message}`;
    }
    number += 1;
    return 'accepted';
  };
  return { accept, acceptAfter, forwarded, copied, failures, end: own.end };
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

test('a frame may copy pages, and those that it cannot copy are refused', async () => {
  const { accept, acceptAfter, forwarded, copied, failures, end } = runner();
  assert.is(accept({ position: 0, tokens: 6, pages: [5, 2] }), 'accepted');
  const other = { request: 2, position: 5, tokens: 1, pages: [5, 0] };
  assert.is(acceptAfter([{ from: 2, to: 8, tokens: 1 }], other), 'FrameError: page 8; the plan has 8');
  assert.is(
    acceptAfter([{ from: 2, to: 0, tokens: 5 }], other),
    'FrameError: a copy of 5 tokens of page 2; a page has 4',
  );
  assert.is(
    acceptAfter([{ from: 2, to: 0, tokens: 3 }], other),
    'FrameError: a copy of 3 tokens of page 2, which has 2',
  );
  assert.is(acceptAfter([{ from: 2, to: 0, tokens: 1 }], other), 'accepted');
  while (forwarded.length < 2 && failures.length === 0) await new Promise(setImmediate);
  assert.equal([failures, copied], [[], [{ from: 2, to: 0, tokens: 1 }]]);
  await end();
});

test.run();
