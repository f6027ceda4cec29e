import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type PageJob, READ_ALIGNMENT } from '../../../engine/kernels/file-pages.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import { pagesOf } from '../../../engine/runtime/weights/mapped-weights.ts';
import { heldBytes } from '../../../engine/runtime/weights/process-counters.ts';
import { NATIVE_SETS } from '../../kernels/native-sets.ts';
import { testIf } from '../../support/needs.ts';

const MIB = 2 ** 20;
/** Not whole pages. */
const SIZE = 20 * MIB + 777;
const WHOLE = { from: 0, to: SIZE };
let [folder, path] = ['', ''];
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
  path = join(folder, 'file');
  const bytes = new Uint8Array(SIZE);
  for (let i = 0; i < SIZE; i++) bytes[i] = (i * 2654435761) >>> 24;
  writeFileSync(path, bytes, { flush: true });
});
test.after(() => rmSync(folder, { recursive: true }));

const withKernels = (name: string, body: () => void | Promise<void>): void =>
  testIf(NATIVE_SETS.length > 0, 'the native kernels are not built', name, body);

const open = () => {
  const kernels = openKernels({ implementation: 'native', threads: 1 });
  const file = kernels.mapFile(path);
  return { kernels, pages: pagesOf(kernels, file) };
};

withKernels('drop, populate and drop again: nothing, all, nothing; a part is a part', () => {
  const { kernels, pages } = open();
  pages.start('drop', WHOLE).wait();
  // A file system in memory can't drop pages.
  if (pages.resident(WHOLE) === 0) {
    pages.readAhead(false);
    const part = { from: 5 * MIB, to: 7 * MIB };
    const { start, end, bytes, cancelled } = pages.start('populate', part).wait();
    assert.is(pages.resident(part), 2 * MIB);
    assert.is(pages.resident(WHOLE), 2 * MIB);
    assert.ok(end > start && end <= performance.now() / 1000 && start > performance.now() / 1000 - 60);
    assert.is(bytes, 2 * MIB);
    assert.is(cancelled, false);
    pages.start('populate', WHOLE).wait();
    assert.is(pages.resident(WHOLE), SIZE);
    assert.is(pages.resident({ from: 100, to: 300 }), 200);
    pages.start('drop', WHOLE).wait();
    assert.is(pages.resident(WHOLE), 0);
  } else console.log(`skipped: dropping (${folder} is a file system in memory)`);
  kernels.close();
});

withKernels('willneed asks without waiting, and brings exactly the range', () => {
  const { kernels, pages } = open();
  pages.start('drop', WHOLE).wait();
  const dropped = pages.resident(WHOLE);
  pages.readAhead(false);
  const range = { from: 0, to: 8 * MIB };
  pages.start('willneed', range).wait();
  pages.start('populate', range).wait();
  assert.is(pages.resident(range), 8 * MIB);
  if (dropped === 0) assert.is(pages.resident({ from: 16 * MIB, to: SIZE }), 0);
  kernels.close();
});

withKernels('what is locked stays, until it is unlocked', () => {
  const { kernels, pages } = open();
  const [locked, rest] = [
    { from: 0, to: MIB },
    { from: MIB, to: SIZE },
  ];
  pages.start('populate', WHOLE).wait();
  const before = heldBytes() ?? 0;
  const { refused } = pages.start('lock', locked).wait();
  assert.is(pages.resident(locked), MIB);
  // Sanitizers disable mlock.
  const isLocked = /^VmLck:\s+[1-9]/m.test(
    existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : '',
  );
  if (!refused && isLocked) {
    assert.ok(Math.abs((heldBytes() ?? 0) - before - MIB) < 0.9 * MIB);
    assert.throws(() => pages.start('drop', WHOLE).wait(), /file: MADV_DONTNEED/);
    pages.start('unlock', locked).wait();
  }
  pages.start('drop', rest).wait();
  assert.is(pages.resident(locked), MIB);
  kernels.close();
});

withKernels('reading past the page cache gives the bytes of the file, wherever it begins and ends', () => {
  const { kernels, pages } = open();
  const bytes = readFileSync(path);
  const blocks = Math.ceil(SIZE / READ_ALIGNMENT);
  const buffer = pages.buffer(8 * MIB);
  fc.assert(
    fc.property(fc.nat(blocks - 1), fc.integer({ min: 1, max: 1500 }), fc.nat(9), (first, count, at) => {
      const from = first * READ_ALIGNMENT;
      const to = Math.min(SIZE, from + count * READ_ALIGNMENT);
      const outcome = pages.read({ from, to }, [{ buffer, offset: at * READ_ALIGNMENT, bytes: to - from }]).wait();
      const found = buffer.bytes.subarray(at * READ_ALIGNMENT, at * READ_ALIGNMENT + to - from);
      assert.is(Buffer.compare(found, bytes.subarray(from, to)), 0);
      assert.ok(outcome.bytes >= 0 && outcome.end >= outcome.start);
    }),
    { seed: 6, numRuns: 30 },
  );
  kernels.close();
});

for (const cached of [false, true])
  withKernels(
    `reading ${cached ? 'through' : 'past'} the page cache by several threads gives any bytes, and touches no others`,
    () => {
      const kernels = openKernels({ implementation: 'native', threads: 1 });
      const pages = pagesOf(kernels, kernels.mapFile(path), { threads: 3, cached });
      const bytes = readFileSync(path);
      const room = 2 * MIB;
      const buffer = pages.buffer(6 * room);
      // Some places lie in their pages as the range does, which is read in place then.
      const range = fc.record({
        from: fc.nat(SIZE - 1),
        count: fc.oneof(fc.integer({ min: 1, max: 9000 }), fc.integer({ min: 1, max: MIB })),
        at: fc.option(fc.nat(READ_ALIGNMENT - 1), { nil: undefined }),
      });
      fc.assert(
        fc.property(fc.array(range, { minLength: 1, maxLength: 6 }), (ranges) => {
          buffer.bytes.fill(7);
          const reads = ranges.map(({ from, count, at = from % READ_ALIGNMENT }, index) => {
            const to = Math.min(SIZE, from + count);
            return { from, to, at: index * room + READ_ALIGNMENT + at };
          });
          const jobs = reads.map(({ from, to, at }) =>
            pages.read({ from, to }, [{ buffer, offset: at, bytes: to - from }]),
          );
          for (const job of jobs) job.wait();
          const expected = Buffer.alloc(buffer.bytes.length, 7);
          for (const { from, to, at } of reads) bytes.copy(expected, at, from, to);
          assert.is(Buffer.compare(buffer.bytes, expected), 0);
        }),
        { seed: 7, numRuns: 30 },
      );
      kernels.close();
    },
  );

for (const cached of [false, true])
  withKernels(`a range is read ${cached ? 'through' : 'past'} the page cache into several places in one go`, () => {
    const kernels = openKernels({ implementation: 'native', threads: 1 });
    const pages = pagesOf(kernels, kernels.mapFile(path), { threads: 2, cached });
    const bytes = readFileSync(path);
    const room = 6 * MIB;
    const buffer = pages.buffer(5 * room);
    // Whole pages from the first byte of a page on are read in place; pieces of 4 MiB end within targets.
    const page = fc.integer({ min: 1, max: 1100 }).map((count) => count * READ_ALIGNMENT);
    const any = fc.integer({ min: 1, max: 5 * MIB });
    fc.assert(
      fc.property(
        fc.nat(3 * MIB),
        fc.array(fc.oneof(page, any), { minLength: 1, maxLength: 4 }),
        fc.nat(READ_ALIGNMENT - 1),
        fc.boolean(),
        (begin, sizes, at, inPages) => {
          const from = inPages ? Math.floor(begin / READ_ALIGNMENT) * READ_ALIGNMENT : begin;
          let end = from;
          const targets = sizes.flatMap((size, index) => {
            const count = Math.min(size, SIZE - end);
            end += count;
            return count === 0
              ? []
              : [{ buffer, offset: index * room + (inPages ? READ_ALIGNMENT : at), bytes: count }];
          });
          buffer.bytes.fill(7);
          pages.read({ from, to: end }, targets).wait();
          const expected = Buffer.alloc(buffer.bytes.length, 7);
          let next = from;
          for (const { offset, bytes: count } of targets) {
            bytes.copy(expected, offset, next, next + count);
            next += count;
          }
          assert.is(Buffer.compare(buffer.bytes, expected), 0);
        },
      ),
      { seed: 8, numRuns: 30 },
    );
    kernels.close();
  });

withKernels('jobs that are given up end early; a drop goes before them', () => {
  const { kernels, pages } = open();
  /** Gives jobs up, the last of them first. @returns that one, when it was given up, and a drop that was started after that */
  const givenUp = () => {
    const many = Array.from({ length: 40 }, () => pages.start('populate', WHOLE));
    const at = performance.now() / 1000;
    for (const job of many.toReversed()) job.cancel();
    const drop = pages.start('drop', { from: 0, to: MIB });
    return { at, dropped: drop.wait(), last: many.at(-1) as PageJob };
  };
  let tried = givenUp();
  // If this thread had no processor for as long as 39 jobs take, the last one has begun.
  for (let times = 1; times < 5 && tried.last.wait().start < tried.at; times++) tried = givenUp();
  const { dropped, last } = tried;
  assert.is(last.wait().cancelled, true);
  assert.ok(
    dropped.end <= last.wait().start,
    `the drop ended at ${dropped.end}, the job began at ${last.wait().start}`,
  );
  assert.equal(last.poll(), last.wait());
  kernels.close();
});

withKernels('jobs are waited for in turns of other events: done, done before, given up, closed', async () => {
  const { kernels, pages } = open();
  const jobs = Array.from({ length: 5 }, () => pages.start('populate', WHOLE));
  let turns = 0;
  const counting = setInterval(() => {
    turns += 1;
  });
  const drop = pages.start('drop', WHOLE);
  await drop.settled();
  assert.ok(drop.poll() !== undefined);
  await Promise.all(jobs.map((job) => job.settled()));
  for (const job of jobs) assert.is(job.poll()?.cancelled, false);
  await jobs[0]?.settled();
  // Others lie before it, or it could be done before it is given up.
  const before = Array.from({ length: 50 }, () => pages.start('populate', WHOLE));
  const given = pages.start('populate', WHOLE);
  given.cancel();
  for (const job of before) job.cancel();
  await given.settled();
  assert.is(given.poll()?.cancelled, true);
  const many = Array.from({ length: 50 }, () => pages.start('populate', WHOLE));
  const closed = Promise.all(many.map((job) => job.settled()));
  setTimeout(() => kernels.close(), 1);
  await closed;
  clearInterval(counting);
  assert.ok(turns > 0);
});

withKernels('closing with jobs to do ends at once', () => {
  const { kernels, pages } = open();
  for (let i = 0; i < 100; i++) pages.start('populate', WHOLE);
  kernels.close();
  assert.throws(() => pages.resident(WHOLE), /closed/);
});

withKernels('what lies beyond the file or the buffer is an error', () => {
  const { kernels, pages } = open();
  const buffer = pages.buffer(MIB);
  const beyond = 'no such part of the file';
  for (const range of [
    { from: 0, to: SIZE + 1 },
    { from: 5, to: 5 },
    { from: 9, to: 3 },
  ]) {
    assert.throws(() => pages.start('populate', range), beyond);
    assert.throws(() => pages.resident(range), beyond);
  }
  const into = (offset: number, bytes: number) => ({ buffer, offset, bytes });
  assert.throws(() => pages.read({ from: 0, to: 2 * MIB }, [into(0, MIB)]), 'the target is too small');
  assert.throws(() => pages.read({ from: 0, to: MIB }, [into(4096, MIB)]), 'the target is too small');
  assert.throws(() => pages.read({ from: 0, to: MIB }, [into(0, MIB), into(0, 1)]), 'more than the range has');
  assert.throws(() => pages.read({ from: 0, to: MIB }, []), 'nowhere to read to');
  kernels.close();
});

withKernels('memory is reserved, and taken as it is used', () => {
  const kernels = openKernels({ implementation: 'native', threads: 1 });
  const resident = (): number => process.memoryUsage.rss();
  const before = resident();
  kernels.cache({ type: 'F16', kvHeads: 8, capacity: 2 ** 19, headSize: 128 }); // 2 GiB
  assert.ok(resident() - before < 64 * MIB, String(resident() - before));
  kernels.close();
});

withKernels('memory that the system does not grant is one line that says for what', () => {
  const kernels = openKernels({ implementation: 'native', threads: 1 });
  const huge = { type: 'F16', kvHeads: 8, capacity: 2 ** 40, headSize: 128 } as const;
  assert.throws(
    () => kernels.cache(huge),
    `memory: a layer’s KV cache for ${2 ** 40} tokens needs 2097152 GiB in one piece, which the system doesn’t grant`,
  );
  kernels.close();
});

test('the reference kernels have no pages', () => {
  const kernels = openKernels({ implementation: 'reference' });
  assert.throws(
    () => pagesOf(kernels, kernels.mapFile(path)),
    'weights: the reference kernels hold all weights in memory of their own; native kernels are needed to stream them',
  );
});

test.run();
