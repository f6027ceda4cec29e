import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type FramePiece, isFollowed, mostFrames, passFrames } from '../../engine/batch/pass-frames.ts';

/** The tokens of each frame's pieces, by work. */
const shown = (frames: FramePiece[][]): string[] =>
  frames.map((pieces) => pieces.map(({ work, from, tokens }) => `${work}: ${from}+${tokens}`).join(', '));

test('chunks of a prompt alone are nearly equal, within batches of 512, and have at least four tokens if possible', () => {
  const lengths = (tokens: number, most: number): number[] =>
    passFrames([tokens], most).map(([piece]) => piece?.tokens ?? 0);
  assert.equal(lengths(1, 128), [1]);
  assert.equal(lengths(9, 8), [5, 4]);
  assert.equal(lengths(130, 128), [65, 65]);
  assert.equal(lengths(513, 256), [256, 256, 1]);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2000 }), fc.integer({ min: 8, max: 128 }), (count, most) => {
      const found = lengths(count, most);
      assert.ok(found.every((tokens) => tokens <= most));
      assert.ok(count % 512 < 4 || found.every((tokens) => tokens >= 4));
    }),
  );
});

test('tokens of several texts fill one frame after the other', () => {
  assert.equal(shown(passFrames([1, 1, 5], 8)), ['0: 0+1, 1: 0+1, 2: 0+5']);
  assert.equal(shown(passFrames([1, 20, 3], 8)), ['0: 0+1, 1: 0+7', '1: 7+8', '1: 15+5, 2: 0+3']);
});

test('every token is in one frame, in order, and no frame has too many', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 300 }), { maxLength: 6 }),
      fc.integer({ min: 8, max: 128 }),
      (counts, most) => {
        const frames = passFrames(counts, most);
        const found = counts.map(() => 0);
        for (const { work, from, tokens } of frames.flat()) {
          assert.is(from, found[work]);
          found[work] = from + tokens;
        }
        assert.equal(found, counts);
        assert.ok(frames.every((pieces) => pieces.reduce((sum, { tokens }) => sum + tokens, 0) <= most));
      },
    ),
  );
});

test('weights are kept for the frames of a pass that are in the ring together', () => {
  assert.equal([1, 3, 16].map(mostFrames), [4, 4, 17]);
  assert.equal(
    [0, 1, 2, 3].map((frame) => isFollowed(frame, 4, 2)),
    [true, true, true, false],
  );
  assert.equal([isFollowed(0, 1, 16), isFollowed(0, 5, 2), isFollowed(0, 5, 4)], [false, false, true]);
});

test.run();
