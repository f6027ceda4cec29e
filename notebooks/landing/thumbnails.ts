/** A small picture for each lesson: shapes of what it draws, without figures. 120 by 64, in the common colours. */

type Shape = readonly [x: number, y: number, width: number, height: number, colour: number];

const bars = (shapes: readonly Shape[]): string =>
  shapes
    .map(
      ([x, y, width, height, colour]) =>
        `<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="var(--series-${colour})"/>`,
    )
    .join('');
const line = (points: string, colour: number): string =>
  `<polyline points="${points}" fill="none" stroke="var(--series-${colour})" stroke-width="3"/>`;
const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** Drawings, by lesson. */
const DRAWN: Readonly<Record<string, string>> = {
  'what-a-token-costs': bars([
    [6, 8, 100, 12, 1],
    [6, 26, 40, 12, 2],
    [6, 44, 14, 12, 3],
  ]),
  'when-weights-dont-fit': line('6,10 86,10 90,54 114,54', 2) + line('6,10 114,54', 1),
  'prefetch-release-rounds': bars(
    range(6).flatMap((row): Shape[] => [
      [6 + 16 * row, 6 + 9 * row, 26, 7, 1],
      [32 + 14 * row, 6 + 9 * row, 10, 7, 3],
    ]),
  ),
  'who-gets-which-layers': bars([
    [6, 10, 46, 18, 1],
    [52, 10, 30, 18, 2],
    [82, 10, 32, 18, 3],
    [6, 36, 62, 18, 1],
    [68, 36, 12, 18, 2],
    [80, 36, 34, 18, 3],
  ]),
  'a-ring-played':
    '<circle cx="60" cy="32" r="24" fill="none" stroke="var(--rule)" stroke-width="2"/>' +
    [
      [60, 8],
      [84, 32],
      [60, 56],
      [36, 32],
    ]
      .map(([x, y], index) => `<circle cx="${x}" cy="${y}" r="7" fill="var(--series-${index === 1 ? 2 : 1})"/>`)
      .join(''),
  'half-on-the-gpu': bars(
    range(12).flatMap((at): Shape[] => [
      [6 + 9 * at, 44 - 3 * at, 7, 14 + 3 * at, 2],
      [6 + 9 * at, 34 - 2.6 * at, 7, 10 - 0.4 * at, 1],
    ]),
  ),
  'a-cache-with-pages': bars(
    range(24).map((at): Shape => [6 + 14 * (at % 8), 8 + 18 * Math.floor(at / 8), 11, 14, at < 15 ? 1 : 2]),
  ),
  'layers-that-differ': bars(
    range(12).map((at): Shape => {
      const height = at % 4 === 3 ? 52 : 9;
      return [6 + 9 * at, 58 - height, 7, height, at % 4 === 3 ? 1 : 2];
    }),
  ),
  'an-npus-temper': line('6,56 30,56 30,42 54,42 54,28 78,28 78,14 114,14', 5) + line('6,50 114,24', 1),
  'one-tensor-cut-in-two': bars([
    [6, 14, 68, 36, 5],
    [76, 14, 38, 36, 1],
  ]),
  'prompts-that-fit-no-graph': bars(
    range(4).flatMap((row): Shape[] => [
      [6, 6 + 14 * row, 108, 10, 6],
      [6, 6 + 14 * row, 98 - 19 * row, 10, 5],
    ]),
  ),
  'what-a-head-looks-at': bars(
    range(8).flatMap((row) => [row, Math.floor(row / 2)].map((at): Shape => [28 + 8 * at, 1 + 8 * row, 7, 7, 1])),
  ),
  'an-answer-layer-by-layer': bars(
    [6, 10, 8, 26, 40, 54].map((height, at): Shape => [10 + 17 * at, 60 - height, 13, height, at < 3 ? 2 : 1]),
  ),
  'drawing-a-token': bars(
    [46, 30, 20, 13, 8, 5, 3].map((height, at): Shape => [8 + 15 * at, 58 - height, 11, height, at < 3 ? 1 : 6]),
  ),
  'a-model-in-the-page': bars(
    range(10).flatMap((pass) =>
      range(6).map((layer): Shape => [12 + 10 * pass, 3 + 10 * layer, 8, 8, pass === 0 || layer > 3 ? 2 : 1]),
    ),
  ),
  'experts-on-a-disk': bars(
    range(32).map(
      (at): Shape => [6 + 14 * (at % 8), 4 + 15 * Math.floor(at / 8), 11, 11, at % 5 === 0 ? 2 : at % 3 === 0 ? 1 : 6],
    ),
  ),
  'three-answers': bars([
    [14, 24, 24, 34, 1],
    [48, 16, 24, 42, 3],
    [82, 12, 24, 46, 2],
  ]),
};

/** The picture of a lesson; empty where it has none. */
export function thumbnail(page: string): SVGSVGElement {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 120 64');
  svg.setAttribute('aria-hidden', 'true');
  svg.innerHTML = DRAWN[page] ?? '';
  return svg;
}
