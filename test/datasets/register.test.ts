import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadPublished, loadRegister } from '../../datasets/load.ts';
import { BLIND, parseRegister } from '../../datasets/register.ts';

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

test('every registered choice is described in PROTOCOL.md, and every cell is on file', () => {
  const protocol = readFileSync('datasets/published/PROTOCOL.md', 'utf8');
  const register = loadRegister();
  const choices = [...new Set(register.map(({ choice }) => choice))].filter((choice) => choice !== BLIND);
  assert.ok(choices.length >= 2);
  for (const choice of choices) assert.ok(protocol.includes(`| \`${choice}\``), choice);
  const places = new Set(loadPublished().map(({ table, row, column }) => [table, row, column].join('\n')));
  const lost = register.filter(({ table, row, column }) => !places.has([table, row, column].join('\n')));
  assert.equal(lost, []);
});

test.run();
