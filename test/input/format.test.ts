import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  counted,
  enumerate,
  formatBytes,
  formatDeviation,
  formatPercent,
  formatSeconds,
  gibibytes,
  threeDigits,
} from '../../engine/input/format.ts';

test('seconds have three digits and are in ms below one second', () => {
  assert.equal([0, 0.000412, 0.0153, 0.9994, 1, 1.234, 84, 1234.4].map(formatSeconds), [
    '0 ms',
    '0.412 ms',
    '15.3 ms',
    '999 ms',
    '1.00 s',
    '1.23 s',
    '84.0 s',
    '1234 s',
  ]);
});

test('bytes are in binary units', () => {
  assert.equal([0, 512, 512 * 2 ** 20, 4.1 * 2 ** 30, 40 * 2 ** 30].map(formatBytes), [
    '0',
    '0.500 KiB',
    '512 MiB',
    '4.10 GiB',
    '40.0 GiB',
  ]);
  assert.is(gibibytes(4.06 * 2 ** 30), '4.1');
});

test('deviations have a sign, and are factors from ten on', () => {
  assert.equal([1, 1.0004, 1.123, 0.966, 0.08, 9.94, 9.96, 17].map(formatDeviation), [
    '±0.0 %',
    '±0.0 %',
    '+12 %',
    '−3.4 %',
    '−92 %',
    '+894 %',
    '+896 %',
    '×17.0',
  ]);
  assert.equal([0.5, 0.034].map(formatPercent), ['50 %', '3.4 %']);
});

test('there are three digits even if rounding carries', () => {
  assert.equal([9.994, 9.996, 99.94, 99.96, 0.9996].map(threeDigits), ['9.99', '10.0', '99.9', '100', '1.00']);
});

test('lists are written as in English', () => {
  assert.equal([[], ['a'], ['a', 'b'], ['a', 'b', 'c']].map(enumerate), ['', 'a', 'a and b', 'a, b and c']);
});

test('one thing is singular', () => {
  assert.equal(
    [0, 1, 2].map((count) => counted(count, 'token')),
    ['0 tokens', '1 token', '2 tokens'],
  );
});

test.run();
