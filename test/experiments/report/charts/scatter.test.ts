import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { scatterChart } from '../../../../experiments/report/charts/scatter.ts';

test('a scatter chart has a line of equality, a filled band and the points', () => {
  const { data } = scatterChart({
    x: 'published (ms)',
    y: 'predicted (ms)',
    band: 0.1,
    bandName: '±10 %',
    range: [1, 100],
    height: 400,
    series: [{ name: 'cells', colour: '#000000', x: [10], y: [11], mode: 'markers' }],
  });
  const traces = data as { name: string; y: number[]; fill?: string; showlegend?: boolean }[];
  assert.equal(
    traces.map(({ name }) => name),
    ['below', '±10 %', 'equal', 'cells'],
  );
  assert.equal(
    traces.map(({ fill }) => fill),
    [undefined, 'tonexty', undefined, undefined],
  );
  assert.is(traces[0]?.showlegend, false);
  assert.equal(traces[0]?.y, [0.9, 90]);
  assert.equal(traces[2]?.y, [1, 100]);
});

test.run();
