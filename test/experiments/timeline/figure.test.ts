import type { Data } from 'plotly.js-dist-min';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { timelineRows } from '../../../engine/trace/timeline-rows.ts';
import type { Span, Trace } from '../../../engine/trace/trace.ts';
import { timelineBlocks } from '../../../experiments/timeline/blocks.ts';
import { timelineFigure } from '../../../experiments/timeline/figure.ts';

const span = (device: string, lane: Span['lane'], name: string, start: number, end: number, bytes?: number): Span => ({
  device,
  lane,
  cause: lane === 'disk' || name.startsWith('waits') ? 'disk' : lane === 'link' ? 'link' : 'compute',
  name,
  start,
  end,
  args: bytes === undefined ? {} : { bytes },
});

const TRACE: Trace = {
  devices: [
    { name: 'pc', lanes: ['cpu', 'gpu', 'disk', 'link'] },
    { name: 'phone', lanes: ['cpu', 'disk', 'link'] },
  ],
  spans: [
    span('pc', 'gpu', 'layer 0', 0, 2),
    span('pc', 'link', 'to phone', 2, 2.5),
    span('phone', 'cpu', 'waits for layer 1', 2.5, 3.5),
    span('phone', 'disk', 'page fault', 2.5, 3.5, 2 ** 20),
    span('phone', 'cpu', 'layer 1', 3.5, 4),
  ],
  tokens: [{ phase: 'decode', start: 0, end: 4 }],
  counters: [
    {
      device: 'phone',
      name: 'resident weights (bytes)',
      samples: [
        { time: 0, value: 2 ** 20 },
        { time: 3.5, value: 2 ** 21 },
      ],
    },
  ],
};

/** Traces of a figure by name, in their order. */
const byName = (data: readonly Data[]): [string, Record<string, unknown>][] =>
  data.map((one) => [String((one as { name?: string }).name), one as Record<string, unknown>]);

test('each device has rows for processors in use, disk, link and known memory', () => {
  assert.equal(
    timelineRows(TRACE).map(({ device, lane, y }) => [device, lane, y]),
    [
      ['pc', 'cpu', 0],
      ['pc', 'gpu', 1],
      ['pc', 'disk', 2],
      ['pc', 'link', 3],
      ['phone', 'cpu', 4.5],
      ['phone', 'disk', 5.5],
      ['phone', 'link', 6.5],
      ['phone', 'memory', 7.5],
    ],
  );
  const idle = TRACE.spans.filter(({ lane }) => lane !== 'gpu');
  assert.not.ok(timelineRows({ ...TRACE, spans: idle }).some(({ lane }) => lane === 'gpu'));
});

test('bars lie on the row of their kind and have tooltips', () => {
  const { data } = timelineFigure(TRACE, 4);
  assert.equal(
    byName(data).map(([name]) => name),
    ['computing', 'waits for the disk', 'page fault', 'communication', 'weights in memory'],
  );
  const [computing, , fault] = byName(data).map(([, one]) => one);
  assert.equal(
    [computing?.base, computing?.x, computing?.y],
    [
      [0, 3.5],
      [2, 0.5],
      [1, 4.5],
    ],
  );
  assert.equal(fault?.customdata, ['<b>phone</b> disk: page fault<br>at 2.50 s for 1.00 s<br>1.00 MiB']);
});

test('memory is a step curve scaled to its largest value', () => {
  const memory = byName(timelineFigure(TRACE, 4).data).at(-1)?.[1];
  assert.equal(memory?.x, [0, 0, 3.5, 3.5, 4, 4, 4]);
  const share = ((memory?.y ?? []) as number[]).map((y) => Math.round(((7.5 + 0.42 - y) / 0.84) * 100));
  assert.equal(share, [0, 50, 50, 100, 100, 100, 0]);
});

test('the axis has the given length and marks the end of each token', () => {
  const { layout } = timelineFigure(TRACE, 10);
  assert.equal(layout.xaxis?.range, [0, 10]);
  assert.equal(
    layout.annotations?.map(({ text }) => text),
    ['token: 4.00 s', '≤ 2.00 MiB'],
  );
});

test('a figure of 200,000 spans has a few thousand bars', () => {
  const spans = Array.from({ length: 200_000 }, (_, index) =>
    span('pc', index % 2 === 0 ? 'cpu' : 'disk', index % 2 === 0 ? 'layer' : 'prefetch', index, index + 0.9, 8),
  );
  const start = process.cpuUsage();
  const figure = timelineFigure({ ...TRACE, spans }, 200_000);
  // Processor time, in µs: other processes may take the clock's.
  const { user, system } = process.cpuUsage(start);
  assert.ok(user + system < 5e6);
  assert.ok(JSON.stringify(figure).length < 1e6);
});

test('timelines for a report share the longest one’s axis', () => {
  const short = { ...TRACE, spans: TRACE.spans.slice(0, 1), tokens: [] };
  const blocks = timelineBlocks([
    { title: 'long', note: 'look here', trace: TRACE },
    { title: 'short', trace: short },
  ]);
  const ranges = blocks.flatMap((block) =>
    block.kind === 'chart' ? [block.variants[0]?.figure.layout.xaxis?.range] : [],
  );
  assert.equal(ranges, [
    [0, 4],
    [0, 4],
  ]);
  const table = blocks.at(-1);
  assert.equal(table?.kind === 'table' && table.rows[1], [
    'long',
    'phone',
    '500 ms',
    '1.00 s',
    '2.50 s',
    '2.50 s',
    '1.00 s',
    '1.00 MiB',
    '0',
  ]);
});

test.run();
