import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openPointsFile, type Point, readPoints } from '../../../experiments/partition-sweep/points-file.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-points-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));

const path = join(directory, 'points.jsonl');
const NUMBERS = Float64Array.of(3, 5, 8);
const open = (step = 4, restart = false) =>
  openPointsFile({ directory, fingerprint: { cluster: 'c', step }, numbers: NUMBERS, restart });

const FIRST: Point = { plan: 3, seconds: 0.1, predicted: 0.25 };
const SECOND: Point = { plan: 5, failed: 'out of memory: D4' };

test('a file has the settings in its first line, then one plan per line', () => {
  const file = open();
  assert.is(file.done, 0);
  file.append([FIRST, SECOND].map((point) => JSON.stringify(point)));
  file.close();
  assert.is(
    readFileSync(path, 'utf8'),
    '{"settings":{"cluster":"c","step":4}}\n{"plan":3,"seconds":0.1,"predicted":0.25}\n{"plan":5,"failed":"out of memory: D4"}\n',
  );
  assert.equal([...readPoints(path, NUMBERS)], [FIRST, SECOND]);
});

test('a file continues after its last complete line', () => {
  const whole = readFileSync(path, 'utf8');
  appendFileSync(path, '{"plan":8,"seco');
  const file = open();
  assert.is(file.done, 2);
  assert.equal(file.last, SECOND);
  assert.is(readFileSync(path, 'utf8'), whole);
  file.append([JSON.stringify({ plan: 8, seconds: 1, predicted: 2 })]);
  file.close();
  assert.is(readFileSync(path, 'utf8'), `${whole}{"plan":8,"seconds":1,"predicted":2}\n`);
});

test('other settings are refused, and the file is not changed', () => {
  const whole = readFileSync(path, 'utf8');
  assert.throws(() => open(2), /points\.jsonl: is a sweep with other settings: step was 4, is 2; pass --restart/);
  assert.is(readFileSync(path, 'utf8'), whole);
});

test('files with other content are refused', () => {
  const head = '{"settings":{"cluster":"c","step":4}}\n';
  for (const [text, expected] of [
    ['plan,seconds\n1,2\n', /points\.jsonl:1: is not JSON/],
    ['{"plan":3,"seconds":1}\n', /points\.jsonl:1: is not the head of a sweep/],
    [`${head}{"plan":5,"seconds":1}\n`, /points\.jsonl:2: holds plan 5 where 3 is next/],
    [`${head}{"plan":3,"seconds":1}\n{"plan":3,"seconds":1}\n`, /points\.jsonl:3: holds plan 3 where 5 is next/],
    [
      `${head}${[3, 5, 8, 8].map((plan) => `{"plan":${plan},"seconds":1}\n`).join('')}`,
      /points\.jsonl:5: is beyond the last of 3 plans/,
    ],
    [`${head}{"plan":3,"seconds":"=1+1"}\n`, /points\.jsonl:2: is not the result of a plan/],
    [`${head}{"plan":3,"failed":"\\u001b[2J"}\n`, /points\.jsonl:2: is not the result of a plan/],
    [`${head}{"plan":3}\n`, /points\.jsonl:2: is not the result of a plan/],
  ] as const) {
    writeFileSync(path, text);
    assert.throws(() => open(), expected);
  }
});

test('a file that was interrupted within its settings is started again', () => {
  writeFileSync(path, '{"settings":{"clu');
  const file = open();
  file.close();
  assert.is(readFileSync(path, 'utf8'), '{"settings":{"cluster":"c","step":4}}\n');
});

test('--restart replaces the file', () => {
  writeFileSync(path, 'anything');
  const file = open(4, true);
  file.close();
  assert.is(file.done, 0);
  assert.is(readFileSync(path, 'utf8'), '{"settings":{"cluster":"c","step":4}}\n');
});

test('lines may be longer than a block, and a block may hold many', () => {
  const numbers = Float64Array.from({ length: 3000 }, (_, index) => index);
  const points = Array.from(numbers, (plan): Point => ({ plan, failed: 'é'.repeat(plan === 1500 ? 100_000 : 30) }));
  const file = openPointsFile({ directory, fingerprint: {}, numbers, restart: true });
  file.append(points.map((point) => JSON.stringify(point)));
  file.close();
  assert.equal([...readPoints(path, numbers)], points);
  const again = openPointsFile({ directory, fingerprint: {}, numbers, restart: false });
  again.close();
  assert.is(again.done, 3000);
});

test.run();
