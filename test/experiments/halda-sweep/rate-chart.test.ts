import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { rateChart } from '../../../experiments/halda-sweep/rate-chart.ts';
import type { SweepRow } from '../../../experiments/halda-sweep/sweep.ts';
import type { Figure } from '../../../experiments/report/charts/chart.ts';

/** A row of which only what the chart reads is there. @param seconds of a token; `undefined`: no plan */
function row(scheduler: string, label: string, seconds: number | undefined, published?: number): SweepRow {
  const plan = { kind: 'ring', scheduler, rounds: 1, stages: [] };
  const outcome =
    seconds === undefined
      ? { status: 'no-plan', reason: 'fits-nowhere' }
      : { status: 'planned', plan, simulatedSeconds: seconds, breakdown: { tokenSeconds: seconds } };
  return {
    ...{ scheduler, outcome, model: { label } },
    ...(published !== undefined && { published: { seconds: published } }),
  } as unknown as SweepRow;
}

const texts = ({ layout }: Figure): string[] => (layout.annotations ?? []).map(({ text = '' }) => text);
const marks = ({ data }: Figure): (readonly [name: string, x: unknown])[] =>
  data.map((trace) => [trace.name ?? '', (trace as { x: unknown }).x] as const).filter(([name]) => name !== 'gain');

const MODELS = ['8B', '70B'];
const ROWS = [
  row('single-device', '8B', 0.02, 0.025),
  row('single-device', '70B', 10, 8),
  row('halda', '8B', 0.02),
  row('halda', '70B', 0.8, 0.5),
  row('optimal', '70B', 0.5),
];

test('one device and the best plan are marked, with what is published, named and numbered', () => {
  const chart = rateChart(ROWS, MODELS, 4);
  assert.equal(marks(chart), [
    ['llama.cpp (published)', [40, 0.125]],
    ['one device', [50, 0.1]],
    ['prima.cpp (published)', [null, 2]],
    ['up to 4 devices', [50, 2]],
  ]);
  // On the small model both plans are the same: one number.
  assert.equal(texts(chart), ['one device', 'up to 4 devices', '<b>50.0</b>', '<b>2.00</b>', '0.100']);
  assert.is(chart.layout.showlegend, false);
});

test('one device has no second series, and a scheduler of one’s own has a name', () => {
  const chart = rateChart([...ROWS, row('mine', '70B', 1)], MODELS, 1);
  assert.equal(
    marks(chart).map(([name]) => name),
    ['prima.cpp (published)', 'best plan', 'mine'],
  );
  assert.equal(texts(chart), ['best plan', 'mine', '<b>50.0</b>', '<b>2.00</b>']);
});

test('models and series without plans are left out', () => {
  const chart = rateChart([row('single-device', '70B', undefined), row('optimal', '70B', 0.5)], ['70B'], 4);
  assert.equal(texts(chart), ['up to 4 devices', '<b>2.00</b>']);
});

test.run();
