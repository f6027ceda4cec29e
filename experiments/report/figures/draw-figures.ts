import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { InputError } from '../../../engine/input/input-error.ts';
import { figureName } from '../charts/figure-name.ts';
import type { ChartBlock, Page } from '../page/page.ts';
import { figureCsv } from './figure-csv.ts';
import { COLUMNS, type ColumnName, type PaperFigure, paperFigure } from './paper-figure.ts';

/** Usual paths of Chromium and Chrome, for when the environment names none. */
const BROWSERS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

/**
 * The font that figures embed: Inter (SIL Open Font License 1.1), its Latin letters. Not the variable one, whose letters
 * Chromium writes into PDF as Type 3, which publishers refuse.
 */
const FONT = 'Inter';
const FONT_PACKAGE = '@fontsource/inter';

/** Tools that draw figures: Plotly in headless Chromium, which also prints them as PDF. */
export interface FigureTools {
  readonly browser: string;
  /** A style with the font inside. */
  readonly fontStyle: string;
  readonly library: string;
}

/** Finds what draws figures. @throws InputError that names all that is missing, in one line */
export function figureTools(flag: string): FigureTools {
  const { resolve } = createRequire(import.meta.url);
  const found = (name: string): string | undefined => {
    try {
      return resolve(name);
    } catch {
      return undefined;
    }
  };
  const named = process.env.CHROMIUM;
  const browser =
    named === undefined ? BROWSERS.find((path) => existsSync(path)) : existsSync(named) ? named : undefined;
  const font = found(`${FONT_PACKAGE}/files/inter-latin-400-normal.woff2`);
  const packages = [...(found('playwright-core') ? [] : ['playwright-core']), ...(font ? [] : [FONT_PACKAGE])];
  const missing = [
    ...(browser === undefined ? ['Chromium (install it, or name its program in CHROMIUM)'] : []),
    ...(packages.length === 0 ? [] : [`${packages.join(' and ')} (npm install ${packages.join(' ')})`]),
  ];
  if (browser === undefined || font === undefined || missing.length > 0)
    throw new InputError(flag, `figures can’t be drawn without ${missing.join(' and ')}`);
  const bytes = readFileSync(font).toString('base64');
  return {
    browser,
    fontStyle: `@font-face { font-family: "${FONT}"; src: url(data:font/woff2;base64,${bytes}) format("woff2"); }`,
    library: readFileSync(resolve('plotly.js-cartesian-dist-min'), 'utf8'),
  };
}

/**
 * Every chart of a page as files for a paper: SVG and PDF with the font inside, in one and in two columns' width, and as CSV
 * what is drawn. Nothing leaves this machine: the browser opens no address.
 * @returns contents by file name
 */
export async function drawFigures(
  { sections }: Pick<Page, 'sections'>,
  { browser: executablePath, fontStyle, library }: FigureTools,
): Promise<Map<string, string | Uint8Array>> {
  const charts = sections.flatMap(({ blocks }) =>
    blocks.filter((block): block is ChartBlock => block.kind === 'chart'),
  );
  const files = new Map<string, string | Uint8Array>();
  const { chromium } = await import('playwright-core');
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const page = await browser.newPage();
    await page.setContent(`<!doctype html><style>${fontStyle}</style><p style="font-family: '${FONT}'">0</p>`);
    await page.addScriptTag({ content: library });
    await page.evaluate(() => document.fonts.ready);
    const printer = await browser.newPage();
    for (const { title, variants } of charts)
      for (const { label, figure } of variants) {
        const name = freeName(figureName(title, label), files);
        files.set(`${name}.csv`, figureCsv(figure));
        for (const column of Object.keys(COLUMNS) as ColumnName[]) {
          const drawn = paperFigure(figure, column, FONT);
          const svg = (await page.evaluate(drawSvg, drawn)).replace(/(<svg[^>]*>)/, `$1<style>${fontStyle}</style>`);
          files.set(`${name}-${column}.svg`, svg);
          await printer.setContent(
            `<!doctype html><style>@page { margin: 0 } body { margin: 0 } svg { display: block }</style>${svg}`,
          );
          await printer.evaluate(() => document.fonts.ready);
          const size = { width: `${drawn.width}px`, height: `${drawn.height}px` };
          files.set(`${name}-${column}.pdf`, await printer.pdf({ ...size, printBackground: true, pageRanges: '1' }));
        }
      }
  } finally {
    await browser.close();
  }
  return files;
}

/** Draws in the browser. */
async function drawSvg({ data, layout, width, height }: PaperFigure): Promise<string> {
  const { Plotly } = globalThis as unknown as {
    Plotly: { toImage(figure: object, how: object): Promise<string> };
  };
  const url = await Plotly.toImage({ data, layout }, { format: 'svg', width, height });
  return decodeURIComponent(url.replace(/^data:image\/svg\+xml,/, ''));
}

/** A name that no figure has yet: charts of several tables may have one title. */
function freeName(name: string, files: ReadonlyMap<string, unknown>): string {
  for (let number = 1; ; number++) {
    const tried = number === 1 ? name : `${name}-${number}`;
    if (!files.has(`${tried}.csv`)) return tried;
  }
}
