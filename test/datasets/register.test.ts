import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadPublished, loadRegister } from '../../datasets/load.ts';
import { BLIND, LAB, parseRegister } from '../../datasets/register.ts';

const HEADER = 'choice,paper,table,row,column,policy,answer,before,after\n';
const message = (line: string): string => {
  try {
    parseRegister(`${HEADER}${line}\n`, 'r.csv');
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

test('a choice has errors before and after; a first error has none before it', () => {
  assert.is(message('c,prima,Table 4,8B,x,,predicted,0.1,0.2'), '');
  assert.is(message('c,helm,Table 6.2,x,B=2,,simulated,disagrees,agrees'), '');
  assert.is(message('blind,helm,Table 6.2,x,B=2,,simulated,,0.3'), '');
  assert.match(
    message('blind,helm,Table 6.2,x,B=2,,simulated,0.2,0.3'),
    /before.*is empty for "blind", and only there/,
  );
  assert.match(message('c,helm,Table 6.2,x,B=2,,simulated,,0.3'), /before.*is empty for "blind", and only there/);
  assert.match(message('c,helm,Table 6.2,x,B=2,,simulated,much,0.3'), /"much" is not a number/);
});

test('a cell that nothing had computed before a choice says so', () => {
  assert.is(message('c,helm,Table 6.2,x,B=2,,simulated,none,0.3'), '');
  assert.match(message('c,helm,Table 6.2,x,B=2,,simulated,0.3,none'), /"none" is not a number/);
});

const register = loadRegister();
const placeOf = ({ table, row, column }: { table: string; row: string; column: string }): string =>
  [table, row, column].join('\n');

test('every registered choice is described in PROTOCOL.md, and every described one is registered', () => {
  const protocol = readFileSync('datasets/published/PROTOCOL.md', 'utf8');
  const [, table = ''] = protocol.split('## Choices made after a cell was seen');
  const choices = [...table.matchAll(/^\| `([a-z-]+)`/gm)].map(([, name]) => name as string);
  const registered = [...new Set(register.map(({ choice }) => choice))].filter((choice) => choice !== BLIND);
  // Rounding lengths down changed the error of no cell by a point: it is described, and has no row.
  assert.equal(registered.toSorted(), choices.filter((choice) => choice !== 'helm-lengths').toSorted());
});

test('every cell of the register is on file, printed or measured here', () => {
  const printed = new Set(loadPublished().map(placeOf));
  const lab = register.filter(({ paper }) => paper === LAB);
  assert.equal(
    register.filter((one) => one.paper !== LAB && !printed.has(placeOf(one))),
    [],
  );
  assert.ok(lab.length > 0);
  for (const { table, row, column } of lab) {
    const [header = '', ...lines] = readFileSync(`datasets/measured/${table}.csv`, 'utf8').trim().split('\n');
    assert.ok(header.split(',').includes(column), column);
    assert.ok(
      lines.some((line) => line.startsWith(`${row},`)),
      `${table}, plan ${row}`,
    );
  }
});

test('a choice is registered once for a cell and answer, and only where it changed the error by a point', () => {
  const seen = new Set<string>();
  for (const one of register) {
    const key = [one.choice, one.paper, placeOf(one), one.policy, one.answer].join('\n');
    assert.not.ok(seen.has(key), key);
    seen.add(key);
    const [before, after] = [Number(one.before), Number(one.after)];
    if (one.choice === BLIND || Number.isNaN(before) || Number.isNaN(after)) continue;
    assert.ok(Math.abs(after - before) >= 0.0099, key);
  }
});

test.run();
