import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { FIT_POLICY, fitPolicy, isFitted, pinnedBytesOf } from '../../engine/plan/weights-policy.ts';

const WINDOWS = [250, 250, 250, 250];

test('all weights are pinned if they fit', () => {
  assert.equal(fitPolicy(FIT_POLICY, { windows: WINDOWS, output: 100, room: 1100 }), {
    prefetch: 'populate',
    release: 'pinned',
    pinned: 1100,
  });
});

test('(k A − S) / (k − 1) bytes are pinned, so that the rest of a window fits too', () => {
  const fitted = fitPolicy(FIT_POLICY, { windows: WINDOWS, output: 0, room: 625 });
  assert.equal(fitted, { prefetch: 'populate', release: 'pinned', pinned: 500 });
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 2, maxLength: 8 }),
      fc.nat(8000),
      (windows, room) => {
        const mapped = windows.reduce((sum, bytes) => sum + bytes, 0);
        const fit = fitPolicy(FIT_POLICY, { windows, output: 0, room });
        const [prefetch, pinnedBytes] = [fit.prefetch, pinnedBytesOf(fit)];
        assert.ok(isFitted(fit));
        const rest = (Math.max(...windows) * (mapped - pinnedBytes)) / mapped;
        assert.ok(pinnedBytes >= 0 && pinnedBytes <= Math.min(room, mapped));
        if (prefetch === 'populate') assert.ok(pinnedBytes + rest <= room + 1);
        else assert.ok(Math.max(...windows) > room);
      },
    ),
  );
});

test('a single window that is too large is not prefetched, since prefetched weights would be reclaimed before their turn', () => {
  assert.equal(fitPolicy(FIT_POLICY, { windows: [1000], output: 0, room: 600 }), {
    prefetch: 'none',
    release: 'pinned',
    pinned: 600,
  });
});

test('a policy keeps its prefetching and its given pinned bytes', () => {
  const asked = { prefetch: 'willneed-whole', release: 'none' } as const;
  assert.equal(fitPolicy(asked, { windows: [1000], output: 0, room: 10 }), asked);
  const named = { prefetch: 'none', release: 'pinned', pinned: 77 } as const;
  assert.equal(fitPolicy(named, { windows: WINDOWS, output: 0, room: 625 }), named);
  const nothing = { prefetch: 'none', release: 'pinned', pinned: 0 } as const;
  assert.equal(fitPolicy(nothing, { windows: WINDOWS, output: 0, room: 625 }), nothing);
  const conflict = { prefetch: 'populate', release: 'pinned', pinned: 'fit' } as const;
  assert.equal(fitPolicy(conflict, { windows: [1000], output: 0, room: 600 }), { ...conflict, pinned: 600 });
});

test.run();
