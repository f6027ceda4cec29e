import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { COLOURS, luminance, SERIES, STYLE, textOn } from '../../engine/design/design.ts';

/**
 * Linear RGB as seen by each kind of colour vision (Machado, Oliveira and Fernandes 2009, severity 1), rows by channel.
 */
const VISIONS = {
  full: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
} satisfies Readonly<Record<string, readonly (readonly number[])[]>>;

const channels = (colour: string): number[] =>
  [1, 3, 5].map((at) => luminance(`#${colour.slice(at, at + 2).repeat(3)}`));

/** CIELAB under D65. */
function lab(linear: readonly number[]): number[] {
  const [x, y, z] = [
    [0.4124 / 0.9505, 0.3576 / 0.9505, 0.1805 / 0.9505],
    [0.2126, 0.7152, 0.0722],
    [0.0193 / 1.089, 0.1192 / 1.089, 0.9505 / 1.089],
  ].map((row) => {
    const value = row.reduce((sum, part, index) => sum + part * (linear[index] as number), 0);
    return value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116;
  }) as [number, number, number];
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** CIE76 between two colours; 2.3 is just noticeable. */
function difference(one: string, other: string, vision: readonly (readonly number[])[]): number {
  const seen = [one, other].map((colour) => {
    const linear = channels(colour);
    return lab(
      vision.map((row) =>
        Math.min(
          1,
          Math.max(
            0,
            row.reduce((sum, part, index) => sum + part * (linear[index] as number), 0),
          ),
        ),
      ),
    );
  });
  return Math.hypot(...(seen[0] as number[]).map((value, index) => value - (seen[1]?.[index] as number)));
}

const contrast = (one: string, other: string): number => {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
};

for (const [which, scheme] of ['light', 'dark'].entries()) {
  const of = (name: keyof typeof COLOURS): string => COLOURS[name][which] as string;

  test(`${scheme}: every two series differ for every kind of colour vision, and stand out from the page`, () => {
    const colours = SERIES.map((pair) => pair[which] as string);
    for (const [kind, vision] of Object.entries(VISIONS))
      for (const [index, one] of colours.entries())
        for (const other of colours.slice(index + 1))
          assert.ok(difference(one, other, vision) > 14, `${kind}: ${one} and ${other}`);
    for (const one of colours) assert.ok(contrast(one, of('page')) > 2.2, one);
  });

  test(`${scheme}: text is read on every ground (WCAG 2.2, 1.4.3)`, () => {
    for (const ground of ['page', 'around', 'raised', 'tint'] as const)
      for (const text of ['ink', 'soft', 'accent'] as const)
        assert.ok(contrast(of(text), of(ground)) >= 4.5, `${text} on ${ground}: ${contrast(of(text), of(ground))}`);
    for (const ground of ['good', 'fair', 'bad'] as const) assert.ok(contrast(of('ink'), of(ground)) >= 4.5, ground);
    assert.ok(contrast(of('on-accent'), of('accent')) >= 4.5);
    for (const pair of SERIES) assert.ok(contrast(textOn(pair[which] as string), pair[which] as string) >= 4.5);
  });
}

test('the style asks for no file and names no colour that it lacks', () => {
  assert.not.match(STYLE, /url\(|@import|@font-face/);
  const used = new Set(Array.from(STYLE.matchAll(/var\((--[\w-]+)\)/g), ([, name]) => name as string));
  assert.equal(
    [...used].filter((name) => !STYLE.includes(`${name}:`)),
    [],
  );
});

test.run();
