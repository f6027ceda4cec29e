import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { clusterFile } from '../../../engine/profile/cluster-file.ts';
import { deviation, type Phase } from '../../../experiments/measure/cell.ts';
import { cellsTable, phaseTable } from '../../../experiments/measure/columns.ts';
import { measurePage } from '../../../experiments/measure/report.ts';
import { errorsOf, findings } from '../../../experiments/measure/summary.ts';
import { tableBlock, tableCsv } from '../../../experiments/report/columns.ts';
import { renderPage } from '../../../experiments/report/page/page.ts';
import { PROFILE } from '../../profile/measures.ts';
import { near } from '../../support/near.ts';
import { cellOf } from './answers.ts';

const CELLS = [cellOf(0.0104, 0.85), cellOf(0.0093, 1.05), cellOf(0.012, 1.5, 2)];

test('deviations are relative to the threads’ own time', () => {
  near(deviation(cellOf(0.0104, 0.85), 'predicted', 'tpot'), 0.04);
  near(deviation(cellOf(0.0104, 0.85), 'predicted', 'ttft'), -0.15);
});

test('median and worst error ignore the sign', () => {
  const { median, worst, worstCell } = errorsOf(CELLS, 'predicted', 'tpot');
  near(median, 0.07);
  near(worst, 0.2);
  assert.is(worstCell.threads, 2);
  assert.is(errorsOf(CELLS, 'simulated', 'ttft').worst, 0);
});

test('findings name the worst cell and the aim', () => {
  const text = findings(CELLS).join(' ');
  assert.match(
    text,
    /^Decode \(TPOT\), 3 cells: predicted with a median error of 7\.0 % \(worst 20 %: toy Q4_K_M, 2 threads/,
  );
  assert.match(text, /spread by ± 1\.0 %; the aim is 5\.0 %\. Prefill/);
});

test('a row has own time, wall-clock time, and both answers with their errors', () => {
  const [row] = tableBlock(phaseTable([cellOf(0.0104, 0.85)], 'tpot')).rows;
  assert.equal(row, [
    'toy Q4_K_M',
    '1',
    '64',
    '10.0 ms',
    '± 1.0 %',
    '20.0 ms',
    '10.4 ms',
    '+4.0 %',
    '10.0 ms',
    '±0.0 %',
  ]);
});

test('colours of errors follow the aim: 5 % and twice that for decode, 10 % for prefill', () => {
  const colours = (cell: ReturnType<typeof cellOf>, phase: Phase) =>
    tableBlock(phaseTable([cell], phase)).tones?.[0] ?? [];
  const tones = (tpot: number) => colours(cellOf(tpot, 0.85), 'tpot').slice(-4);
  assert.equal(tones(0.0104), [undefined, 'good', undefined, 'good']);
  assert.equal([tones(0.0107)[1], tones(0.012)[1]], ['fair', 'bad']);
  assert.is(colours(cellOf(0.01, 0.85), 'ttft').at(-3), 'fair');
});

test('the CSV has two rows a cell, with unrounded numbers', () => {
  const [header, ...rows] = tableCsv(cellsTable(CELLS)).trimEnd().split('\n');
  assert.is(rows.length, 6);
  assert.is(header?.split(',').length, rows[0]?.split(',').length);
  assert.match(rows[0] ?? '', /^toy,Q4_K_M,1,64,tpot,0\.01,0\.01,5,0\.02,0\.01,0\.0104,/);
});

test('the report has both phases, every cell, and the source of each fact of the machine', () => {
  const profiles = [{ threads: 2, text: clusterFile(PROFILE) }];
  const html = renderPage({ subtitle: 'here', summary: findings(CELLS), ...measurePage({ cells: CELLS, profiles }) });
  for (const part of ['Decode: seconds per token', 'Prefill: seconds to the first token', 'median of 7', '+20'])
    assert.ok(html.includes(part), part);
});

test.run();
