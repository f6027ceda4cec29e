import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { findPublished, parsePublished, publishedSeconds } from '../../datasets/published.ts';

const HEADER = 'paper,table,row,column,value,unit,basis,noise,noise_from,use,cluster,model,system,metric,note';
const CELLS = [
  'p,§1,text,ratio,1.5,s,derived,,,,home,A,x,tpot,"said in words, roughly"',
  'p,T1,8B,x,15,ms,measured,0.5,rounding,held-out,home,A,x,tpot,',
  'p,T1,70B,x,OOM,ms,measured,,,held-out,home,B,x,tpot,',
  'p,T2,8B,x,4.9,GiB,measured,0.05,rounding,,home,A,x,ram,',
];

function parse(...rows: string[]) {
  return parsePublished(`${HEADER}\n${rows.join('\n')}\n`, 'p.csv');
}

function message(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  return 'nothing was thrown';
}

test('a cell is read with its numbers as numbers', () => {
  assert.equal(parse(CELLS[1] as string), [
    {
      paper: 'p',
      table: 'T1',
      row: '8B',
      column: 'x',
      value: 15,
      unit: 'ms',
      basis: 'measured',
      noise: 0.5,
      noiseFrom: 'rounding',
      use: 'held-out',
      cluster: 'home',
      model: 'A',
      system: 'x',
      metric: 'tpot',
      note: '',
    },
  ]);
});

test('a lookup finds measured cells before derived ones', () => {
  const found = findPublished(parse(...CELLS), { cluster: 'home', model: 'A', system: 'x', metric: 'tpot' });
  assert.equal(
    found.map(({ table, note }) => [table, note]),
    [
      ['T1', ''],
      ['§1', 'said in words, roughly'],
    ],
  );
});

test('omitted keys match anything, and a lookup may find nothing', () => {
  assert.is(findPublished(parse(...CELLS), { metric: 'tpot' }).length, 3);
  assert.equal(findPublished(parse(...CELLS), { model: 'C' }), []);
});

test('seconds are read from ms and s only', () => {
  assert.equal(parse(...CELLS).map(publishedSeconds), [1.5, 0.015, undefined, undefined]);
});

test('mistakes are reported with file, row and column', () => {
  assert.is(
    message(() => parse(CELLS[1] as string, 'p,T1,8B,x,fast,ms,measured,,,,,,,,')),
    'p.csv: row 3, column value: "fast" is not a number and none of OOM, failed, not-reported, unsupported',
  );
  assert.is(
    message(() => parse('p,T1,8B,x,15,ms,mesured,,,,,,,,')),
    'p.csv: row 2, column basis: unknown "mesured"; did you mean "measured"?',
  );
  assert.is(
    message(() => parse('p,T1,8B,x,15,ms,measured,half,,,,,,,')),
    'p.csv: row 2, column noise: "half" is not a number',
  );
  assert.is(
    message(() => parsePublished(`${HEADER},page\n`, 'p.csv')),
    'p.csv: row 1: unknown column "page"; did you mean "paper"?',
  );
  assert.is(
    message(() => parsePublished('paper,table\n', 'p.csv')).slice(0, 38),
    'p.csv: row 1: column "row" is missing;',
  );
  assert.match(
    message(() => parse('p,"T1')),
    /^p\.csv: is not valid CSV: /,
  );
});

test.run();
