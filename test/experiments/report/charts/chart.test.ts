import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { logTicks } from '../../../../experiments/report/charts/axis.ts';
import { barChart, lineChart } from '../../../../experiments/report/charts/chart.ts';

test('a log axis has more ticks between powers of ten the fewer powers it spans', () => {
  assert.equal(logTicks(5, 90_000), [10, 100, 1000, 10_000]);
  assert.equal(logTicks(12, 3000), [20, 50, 100, 200, 500, 1000, 2000]);
  assert.equal(logTicks(0.9, 8), [1, 1.5, 2, 3, 4, 5, 7]);
});

test('a log axis has room for every point and full labels', () => {
  const { layout } = lineChart({
    x: { title: 'size', categories: ['a', 'b'] },
    y: { title: 'TPOT (ms)', scale: 'log' },
    series: [{ name: 's', colour: '#000', x: ['a', 'b'], y: [20, 2000] }],
  });
  const [low, high] = layout.yaxis?.range ?? [];
  assert.ok(10 ** low < 20 && 10 ** high > 2000);
  assert.equal(layout.yaxis?.ticktext, ['20', '50', '100', '200', '500', '1,000', '2,000']);
  assert.is(layout.yaxis?.title?.text, 'TPOT (ms)');
});

test('stacked bars are labelled with their totals', () => {
  const { data, layout } = barChart({
    categories: ['a', 'b'],
    categoryTitle: 'model',
    value: { title: 'layers' },
    arrange: 'stack',
    totals: ['first', 'second'],
    series: [
      { name: 'cpu', colour: '#111', values: [1, 2], hatched: true },
      { name: 'gpu', colour: '#222', values: [3, null] },
    ],
  });
  assert.equal(
    data.map(({ name }) => name),
    ['cpu', 'gpu'],
  );
  assert.equal(
    layout.annotations?.map(({ x, y, text }) => [x, y, text]),
    [
      ['a', 4, 'first'],
      ['b', 2, 'second'],
    ],
  );
});

test.run();
