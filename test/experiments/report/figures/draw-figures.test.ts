import { existsSync } from 'node:fs';
import { inflateSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { InputError } from '../../../../engine/input/input-error.ts';
import { barChart, lineChart } from '../../../../experiments/report/charts/chart.ts';
import { drawFigures, figureTools } from '../../../../experiments/report/figures/draw-figures.ts';
import { figureCsv } from '../../../../experiments/report/figures/figure-csv.ts';
import { paperFigure } from '../../../../experiments/report/figures/paper-figure.ts';
import { testIf } from '../../../support/needs.ts';
import { CHROMIUM } from '../../../support/open-site.ts';

const BARS = barChart({
  categories: ['a', 'b<br>c'],
  categoryTitle: 'model',
  value: { title: 'layers' },
  arrange: 'group',
  series: [
    { name: 'D1', colour: '#0072b2', values: [1, 2] },
    { name: 'D2', colour: '#d55e00', values: [null, 4] },
  ],
});
const LINE = lineChart({
  x: { title: 'x' },
  y: { title: 'y' },
  series: [{ name: 'one, two', colour: '#0072b2', x: [1, 2], y: [0.125, 3] }],
});

test('what is drawn is written as CSV: a row for each mark, gaps left out', () => {
  assert.is(figureCsv(BARS), 'series,x,y\nD1,a,1\nD1,b c,2\nD2,b c,4\n');
  assert.is(figureCsv(LINE), 'series,x,y\n"one, two",1,0.125\n"one, two",2,3\n');
});

test('a label above a drawing has room for a line of text', () => {
  const annotations = [{ text: 'up to 4 devices', yref: 'paper' as const, y: 1, yanchor: 'bottom' as const }];
  const { layout } = paperFigure({ data: LINE.data, layout: { ...LINE.layout, annotations } }, 'one-column', 'Inter');
  const size = layout.annotations?.[0]?.font?.size ?? 0;
  assert.ok((layout.margin?.t ?? 0) > 1.5 * size && size > 8);
});

test('without a browser one line says what is missing', () => {
  const before = process.env.CHROMIUM;
  process.env.CHROMIUM = '/nowhere/chromium';
  try {
    assert.throws(
      () => figureTools('--figures'),
      (error: unknown) => error instanceof InputError && /^--figures.*Chromium.*CHROMIUM/.test(error.message),
    );
  } finally {
    if (before === undefined) delete process.env.CHROMIUM;
    else process.env.CHROMIUM = before;
  }
});

testIf(
  existsSync(CHROMIUM),
  `no ${CHROMIUM}`,
  'every chart is drawn as SVG and PDF in both widths, the font inside',
  async () => {
    const chart = (title: string) => ({ kind: 'chart', title, variants: [{ label: '', figure: BARS }] }) as const;
    const files = await drawFigures(
      { sections: [{ title: '', blocks: [chart('Layers by model'), chart('Layers by model')] }] },
      figureTools('--figures'),
    );
    const each = ['-one-column.pdf', '-one-column.svg', '-two-columns.pdf', '-two-columns.svg', '.csv'];
    assert.equal(
      [...files.keys()].sort(),
      ['layers-by-model', 'layers-by-model-2'].flatMap((name) => each.map((end) => `${name}${end}`)).sort(),
    );
    const svg = String(files.get('layers-by-model-one-column.svg'));
    // 85 mm.
    assert.match(svg, /^<svg [^>]*width="321"/);
    assert.match(svg, /@font-face \{ font-family: "Inter"[^}]*url\(data:font\/woff2;base64,/);
    assert.match(svg, />D1<\/text>/);
    assert.not.match(svg, /https?:\/\/(?!www\.w3\.org)/);
    const pdf = Buffer.from(files.get('layers-by-model-two-columns.pdf') as Uint8Array);
    assert.is(pdf.subarray(0, 5).toString(), '%PDF-');
    assert.match(pdfText(pdf), /\/FontName \/[A-Z]{6}\+Inter/);
    assert.match(pdfText(pdf), /\/FontFile[23]? /);
    assert.not.match(pdfText(pdf), /\/Type3/);
  },
);

/** The objects of a PDF, those in compressed streams as well. */
function pdfText(pdf: Buffer): string {
  const text = pdf.toString('latin1');
  const streams = Array.from(text.matchAll(/stream\r?\n(.*?)endstream/gs), ([, bytes]) => {
    try {
      return inflateSync(Buffer.from(bytes as string, 'latin1')).toString('latin1');
    } catch {
      return '';
    }
  });
  return [text, ...streams].join('\n');
}

test.run();
