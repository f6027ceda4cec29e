import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { metrics } from '../../engine/trace/metrics.ts';
import { TIMELINE_CASES } from '../../experiments/ring-timelines/cases.ts';
import { claims } from '../../experiments/ring-timelines/claims.ts';
import { RING_MODEL } from '../../experiments/ring-timelines/rings.ts';
import { runTimeline, type TimelineResult } from '../../experiments/ring-timelines/run.ts';
import { near } from '../support/near.ts';
import { testReport } from '../support/open-report.ts';
import { runHere } from '../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-ring-timelines-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));

const results = TIMELINE_CASES.map((one) => runTimeline(one, { reclaim: 'linux', tokens: 2 }));
const of = (key: TimelineResult['key']): TimelineResult => results.find((one) => one.key === key) as TimelineResult;
const LAYERS = RING_MODEL.layers * RING_MODEL.layer.bytes;

test('(a) with fast disks every layer is read for every token, and no computation waits', () => {
  const { trace, readBytes, stallSeconds, tokenSeconds } = of('a');
  assert.equal(
    trace.spans.filter(({ name }) => name.startsWith('waits for layer')),
    [],
  );
  // Less than the page fault for the head's row of the embedding may take.
  assert.ok(stallSeconds < 0.0001 * tokenSeconds, `${stallSeconds} s`);
  near(readBytes / LAYERS, 1, 0.001);
});

test('(b) with slow disks computations wait less than in PP, without bubbles on disk and processor', () => {
  assert.ok(of('b').stallSeconds > 0.1 * of('b').tokenSeconds);
  assert.ok(of('b').stallSeconds < of('b, PP').stallSeconds / 2);
  assert.ok(of('b').idleSeconds < 0.001 * of('b').tokenSeconds, `${of('b').idleSeconds} s`);
});

test('(c) with one slow disk only its device waits, and the others have bubbles', () => {
  const { devices } = metrics(of('c').trace);
  assert.equal(
    devices.map(({ stallSeconds }) => stallSeconds > 0.001),
    [false, false, false, true],
  );
  assert.equal(
    devices.map(({ idleSeconds }) => idleSeconds > 0.5 * of('c').tokenSeconds),
    [true, true, true, false],
  );
});

test('(d) PP reads every layer while the token waits, and (e) prefetching doubles the reads without a gain', () => {
  near(of('d').readBytes / LAYERS, 1, 0.001);
  near(of('e').readBytes / of('d').readBytes, 2, 0.01);
  assert.ok(of('e').tokenSeconds >= 0.999 * of('d').tokenSeconds);
  near(of('e').stallSeconds / of('d').stallSeconds, 1, 0.01);
});

test('(f) matched windows have fewer bubbles and a shorter TPOT than (c), which is shorter than in PP', () => {
  assert.ok(of('f').idleSeconds < of('c').idleSeconds / 2);
  assert.ok(of('f').tokenSeconds < 0.75 * of('c').tokenSeconds);
  assert.ok(of('c').tokenSeconds < 0.75 * of('e').tokenSeconds);
});

test('TPOT equals the sums computed by hand: (a) 32 layers and 16 hops, (d) the reads as well', () => {
  const layer = (bandwidth: number): number => RING_MODEL.layer.bytes / bandwidth;
  const hop = 0.002 + (4 * 2048) / 125e6;
  near(of('a').tokenSeconds, 32 * layer(5e9) + 16 * hop, 0.001);
  const computing = 8 * layer(10e9) + 24 * layer(5e9);
  const reading = 24 * layer(2e9) + 8 * layer(0.5e9);
  near(of('d').tokenSeconds, computing + reading + 4 * hop, 0.001);
});

test('the paper’s claims on Fig. 6 hold with strict LRU, while in the ideal case PP with prefetching reads nothing twice', () => {
  assert.equal(
    claims(results).filter(({ holds }) => !holds),
    [],
  );
  const ideal = TIMELINE_CASES.map((one) => runTimeline(one, { reclaim: 'overflow', tokens: 1 }));
  const failed = claims(ideal).filter(({ holds }) => !holds);
  assert.ok(failed.some(({ text }) => text.startsWith('(e)')));
});

test('the script writes a report, tables and one Perfetto trace per timeline', async () => {
  const { code, stdout } = await runHere('experiments/ring-timelines.ts', '--out', directory, '--json');
  assert.is(code, 0);
  const { rows, settings } = JSON.parse(stdout);
  assert.equal(
    rows.map(({ key }: TimelineResult) => key),
    ['a', 'b', 'c', 'd', 'e', 'f', 'b, PP'],
  );
  assert.is(settings.clusters[0].provenance, 'assumed');
  assert.is(readFileSync(join(directory, 'timelines.csv'), 'utf8').trim().split('\n').length, 8);
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'b-PP']) {
    const { traceEvents } = JSON.parse(readFileSync(join(directory, `${name}.trace.json`), 'utf8'));
    assert.ok(
      traceEvents.some(({ name }: { name: string }) => name === 'compute: layer 0' || name === 'memory: layer 0'),
    );
  }
});

testReport(
  () => join(directory, 'report.html'),
  7,
  async (page) => {
    // The tooltip of a bar says what it is, when, for how long and how many bytes.
    const bar = page.locator('figure').nth(4).locator('.trace.bars').nth(2).locator('path').first();
    await bar.hover({ force: true });
    const text = (await page.locator('.hoverlayer .hovertext').first().textContent()) ?? '';
    assert.match(text, /device 1 disk: page fault ?at 0.ms for 67\.1.ms ?128.MiB/);
  },
);

for (const [options, expected] of [
  [['--reclaim', 'lunix'], /^--reclaim: unknown "lunix"; did you mean "linux"\?\n$/],
  [['--tokens', '5'], /^--tokens: "5" is not a whole number between 1 and 4\n$/],
] as const) {
  test(`${options.join(' ')} is reported in one line with exit code 2`, async () => {
    const { code, stderr, stdout } = await runHere('experiments/ring-timelines.ts', ...options);
    assert.is(code, 2);
    assert.match(stderr, expected);
    assert.is(stdout, '');
  });
}

test.run();
