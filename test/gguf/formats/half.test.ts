import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { bf16ToFloat, floatToBf16, floatToHalf, halfToFloat } from '../../../engine/gguf/formats/half.ts';

const HALVES: readonly [number, number][] = [
  [0x0000, 0],
  [0x3c00, 1],
  [0xc000, -2],
  [0x3555, 0.333251953125],
  [0x7bff, 65504],
  [0x0400, 2 ** -14],
  [0x03ff, 1023 * 2 ** -24],
  [0x0001, 2 ** -24],
  [0x8001, -(2 ** -24)],
  [0x7c00, Number.POSITIVE_INFINITY],
  [0xfc00, Number.NEGATIVE_INFINITY],
];

for (const [bits, value] of HALVES) {
  test(`half 0x${bits.toString(16)} converts to ${value} and back`, () => {
    assert.is(halfToFloat(bits), value);
    assert.is(floatToHalf(value), bits);
  });
}

test('every half survives conversion to a float and back, including NaN and −0', () => {
  for (let bits = 0; bits < 65_536; bits++) {
    const value = halfToFloat(bits);
    if (Number.isNaN(value)) assert.is(floatToHalf(value) & 0x7e00, 0x7e00);
    else if (floatToHalf(value) !== bits) assert.unreachable(`0x${bits.toString(16)}`);
  }
  assert.ok(Object.is(halfToFloat(0x8000), -0));
});

test('floats are rounded to the nearest half, ties to even', () => {
  assert.is(floatToHalf(1 + 2 ** -11), 0x3c00);
  assert.is(floatToHalf(1 + 3 * 2 ** -11), 0x3c02);
  assert.is(floatToHalf(1 + 2 ** -11 + 2 ** -23), 0x3c01);
  assert.is(floatToHalf(2 ** -25), 0);
  assert.is(floatToHalf(2 ** -25 + 2 ** -48), 1);
  assert.is(floatToHalf(3 * 2 ** -25), 2);
  assert.is(floatToHalf(1023.5 * 2 ** -24), 0x0400);
  assert.is(floatToHalf(65519), 0x7bff);
  assert.is(floatToHalf(65520), 0x7c00);
});

test('bfloat16 is the upper half of a float32, rounded to even', () => {
  assert.is(bf16ToFloat(0x3f80), 1);
  assert.is(bf16ToFloat(0x0001), 2 ** -133);
  assert.is(floatToBf16(1 + 2 ** -8), 0x3f80);
  assert.is(floatToBf16(1 + 3 * 2 ** -8), 0x3f82);
  assert.is(floatToBf16(-3.0), 0xc040);
  assert.ok(Number.isNaN(bf16ToFloat(floatToBf16(Number.NaN))));
});

test.run();
