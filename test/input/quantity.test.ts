import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { nearest, suggestion } from '../../engine/input/input-error.ts';
import { type Dimension, parseQuantity, readQuantity } from '../../engine/input/quantity.ts';

const READINGS: readonly [string, Dimension, number][] = [
  ['4.1 GiB', 'size', 4.1 * 2 ** 30],
  ['4.1 GB', 'size', 4.1e9],
  ['512MB', 'size', 512e6],
  ['3.0 GB/s', 'rate', 3e9],
  ['450 Mbps', 'rate', 56.25e6],
  ['1 Gb/s', 'rate', 125e6],
  ['5 ms', 'time', 5e-3],
  ['20 us', 'time', 20e-6],
  ['20 µs', 'time', 20e-6],
  ['0 s', 'time', 0],
  ['400 GFLOPS', 'compute', 400e9],
  ['13.45 TFLOP/s', 'compute', 13.45e12],
];

for (const [text, dimension, expected] of READINGS) {
  test(`"${text}" is ${expected}`, () => {
    const found = parseQuantity(text, dimension, 'here');
    assert.ok(Math.abs(found - expected) <= 1e-12 * expected, String(found));
  });
}

const MISTAKES: readonly [string, Dimension, RegExp][] = [
  ['3 GB', 'rate', /^here: "3 GB" is a size; a rate with its unit is needed, such as "3\.0 GB\/s"/],
  ['3 GB/s', 'time', /^here: "3 GB\/s" is a rate; a time/],
  ['3 TFLOPS', 'rate', /is a compute rate; a rate/],
  ['3 apples', 'size', /is not in a unit known here/],
  ['fast', 'rate', /is not a quantity/],
  ['', 'size', /is not a quantity/],
  ['Infinity GB', 'size', /is not a quantity/],
  ['1e30 GB', 'size', /between 1024 and 1000000000000000 B is allowed/],
];

for (const [text, dimension, expected] of MISTAKES) {
  test(`"${text}" is refused as a ${dimension}`, () => {
    assert.throws(
      () => parseQuantity(text, dimension, 'here'),
      (error: Error) => expected.test(error.message),
    );
  });
}

test('a quantity may have an efficiency and a source', () => {
  assert.equal(readQuantity({ value: '100 GB/s', efficiency: 0.75, source: 'specification: DDR5' }, 'rate', 'here'), {
    value: 75e9,
    provenance: { source: 'specification: DDR5', efficiency: 0.75 },
  });
});

test('the nearest name within a third of its length is suggested, else all names', () => {
  assert.is(nearest('hadla', ['halda', 'optimal']), 'halda');
  assert.is(nearest('xyz', ['halda', 'optimal']), undefined);
  assert.is(suggestion('xyz', ['halda', 'optimal']), '; allowed: halda, optimal');
  const laptops = ['Mac mini M2 8 GB', 'MacBook Air M1 8 GB', 'MacBook Air M2 16 GB'];
  assert.is(suggestion('MacBok Air M1', laptops), '; did you mean "MacBook Air M1 8 GB"?');
  assert.is(suggestion('Chromebook', laptops), `; allowed: ${laptops.join(', ')}`);
});

test.run();
