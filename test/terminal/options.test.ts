import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readChoice, readChoices, readCount, readList, readNumber } from '../../engine/terminal/options.ts';

function message(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  return 'nothing was thrown';
}

test('lists are separated by commas', () => {
  assert.equal(readList('--devices', 'D1, D2'), ['D1', 'D2']);
  assert.is(
    message(() => readList('--devices', 'D1,,D2')),
    '--devices: "D1,,D2" has an empty entry; separate entries by one comma',
  );
  assert.is(
    message(() => readList('--devices', 'D1,D2,D1')),
    '--devices: "D1" occurs twice; name it once',
  );
});

test('choices must be in the list', () => {
  assert.equal(readChoices('--schedulers', 'halda,milp', ['halda', 'optimal', 'milp']), ['halda', 'milp']);
  assert.is(
    message(() => readChoice('--schedulers', 'optmal', ['halda', 'optimal'])),
    '--schedulers: unknown "optmal"; did you mean "optimal"?',
  );
  assert.is(
    message(() => readChoice('--schedulers', 'random', ['halda', 'optimal'])),
    '--schedulers: unknown "random"; allowed: halda, optimal',
  );
});

test('counts are whole numbers within bounds', () => {
  assert.is(readCount('--context', '1024'), 1024);
  for (const text of ['-5', '1.5', '1e3', '', 'many', '0', '10000001', '٣']) {
    assert.is(
      message(() => readCount('--context', text)),
      `--context: "${text}" is not a whole number between 1 and 10000000`,
    );
  }
});

test('numbers are decimal and within bounds', () => {
  assert.is(readNumber('--top-p', '0.95', 0, 1), 0.95);
  assert.is(readNumber('--top-p', '.5', 0, 1), 0.5);
  assert.is(readNumber('--top-p', '1e-2', 0, 1), 0.01);
  for (const text of ['', 'half', '0x1', '1.1', '-0.1', 'NaN', '0,5', '.']) {
    assert.is(
      message(() => readNumber('--top-p', text, 0, 1)),
      `--top-p: "${text}" is not a number between 0 and 1`,
    );
  }
});

test.run();
