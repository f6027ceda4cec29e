import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import type { Figure } from '../charts/chart.ts';
import { CHARTS } from './charts-script.ts';
import { escapeHtml, proseHtml, scriptJson, scriptText } from './html.ts';
import { STYLE } from './style.ts';
import { TABLES } from './tables-script.ts';

/** A report: a self-contained page for a browser. */
export interface Page {
  readonly title: string;
  /** What was run: inputs and settings, one line. */
  readonly subtitle: string;
  /** The summary: one or more paragraphs. */
  readonly summary: string | readonly string[];
  readonly sections: readonly Section[];
}

export interface Section {
  readonly title: string;
  readonly blocks: readonly Block[];
}

export type Block = TextBlock | ChartBlock | TableBlock;

export interface TextBlock {
  readonly kind: 'text';
  readonly text: string;
}

export interface ChartBlock {
  readonly kind: 'chart';
  readonly title: string;
  /** What the chart shows, or how to read it. */
  readonly note?: string;
  /** If there are several, the reader chooses one by its label; the first is drawn initially. */
  readonly variants: readonly { readonly label: string; readonly figure: Figure }[];
  /** Label of the menu that chooses a figure. */
  readonly choose?: string;
}

export interface ReportColumn {
  /** Broken at `\n` only where it has one. */
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** Short names, which don't break. */
  readonly label?: boolean;
}

/** How good a result is: within the target, up to twice as far, farther. */
export type Tone = 'good' | 'fair' | 'bad';

export interface TableBlock {
  readonly kind: 'table';
  readonly title?: string;
  readonly columns: readonly ReportColumn[];
  readonly rows: readonly (readonly string[])[];
  /** The colour behind each cell, in the shape of `rows`. */
  readonly tones?: readonly (readonly (Tone | undefined)[])[];
  /** A line that stands for the table until the reader opens it. */
  readonly fold?: string;
  /** Rows with the same first cell belong together: the cell is written once, with a rule above the group. */
  readonly groups?: boolean;
}

/** Letters of a title that stays in one line. */
const SHORT_TITLE = 10;
/** Letters from which on the last cell of a row takes the room of the empty ones after it. */
const LONG_CELL = 40;

/**
 * The page as HTML. Style, figures and the plotting library are inside, and its content security policy forbids the
 * browser any request.
 */
export function renderPage(page: Page): string {
  const has = (wanted: Block['kind']): boolean =>
    page.sections.some(({ blocks }) => blocks.some(({ kind }) => kind === wanted));
  const charts = has('chart') ? `<script type="application/gzip" id="plotly">${plotly()}</script>` : '';
  const programs = [...(has('chart') ? [CHARTS] : []), ...(has('table') ? [TABLES] : [])];
  const scripts = [charts, ...programs.map((text) => `<script>${scriptText(text)}</script>`)].join('\n');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(page.title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(page.title)}</h1>
<p class="subtitle">${proseHtml(page.subtitle)}</p>
<div class="summary">${[page.summary].flat().map(paragraph).join('')}</div>
${contents(page.sections)}
${page.sections.map(renderSection).join('\n')}
</main>
${scripts}
</body>
</html>
`;
}

/** Links to the sections, where there are several. */
function contents(sections: readonly Section[]): string {
  if (sections.length < 3) return '';
  const links = sections.map(({ title }, index) => `<li><a href="#section-${index + 1}">${escapeHtml(title)}</a></li>`);
  return `<nav aria-label="Contents"><ol>${links.join('')}</ol></nav>`;
}

function renderSection({ title, blocks }: Section, index: number): string {
  return `<section id="section-${index + 1}">\n<h2>${escapeHtml(title)}</h2>\n${blocks.map(renderBlock).join('\n')}\n</section>`;
}

function renderBlock(block: Block): string {
  switch (block.kind) {
    case 'text':
      return paragraph(block.text);
    case 'chart':
      return renderChart(block);
    case 'table':
      return renderTable(block);
  }
}

function paragraph(text: string): string {
  return `<p>${proseHtml(text)}</p>`;
}

function renderChart({ title, note, variants, choose = 'Show' }: ChartBlock): string {
  const options = variants.map(({ label }) => `<option>${escapeHtml(label)}</option>`).join('');
  const select =
    variants.length < 2 ? '' : `<label class="choice">${escapeHtml(choose)} <select>${options}</select></label>`;
  return `<figure>
<figcaption>${escapeHtml(title)}</figcaption>
${note === undefined ? '' : `<p class="note">${proseHtml(note)}</p>`}
${select}
<div class="plot"></div>
<script type="application/json">${scriptJson(variants.map(({ figure }) => figure))}</script>
</figure>`;
}

function renderTable({ title, columns, rows, tones = [], fold, groups = false }: TableBlock): string {
  const side = (index: number, tone?: Tone): string => {
    const { align, label } = columns[index] ?? {};
    const names = [align === 'right' ? ['right'] : label === true ? ['label'] : [], tone ?? []].flat();
    return names.length === 0 ? '' : ` class="${names.join(' ')}"`;
  };
  const head = columns.map((column, index) => `<th scope="col"${side(index)}>${titleHtml(column.title)}</th>`).join('');
  const repeated = (at: number): boolean => groups && at > 0 && rows[at]?.[0] === rows[at - 1]?.[0];
  const hasGroups = rows.some((_, at) => repeated(at));
  const body = rows.map((row, at) => {
    const repeats = repeated(at);
    const shown = row.map((cell, index) => (repeats && index === 0 ? '' : cell));
    const last = shown.findLastIndex((cell) => cell !== '');
    const spans = (shown[last]?.length ?? 0) > LONG_CELL;
    const cells = shown
      .slice(0, spans ? last + 1 : shown.length)
      .map((cell, index) => {
        const span = spans && index === last ? ` colspan="${shown.length - last}"` : '';
        return `<td${side(index, tones[at]?.[index])}${span}>${proseHtml(cell)}</td>`;
      })
      .join('');
    return `<tr${hasGroups && at > 0 && !repeats ? ' class="group"' : ''}>${cells}</tr>`;
  });
  const caption = title === undefined ? '' : `<caption>${escapeHtml(title)}</caption>`;
  const table = `<div class="scroll"><table${hasGroups ? ' data-groups' : ''}>${caption}<thead><tr>${head}</tr></thead>\n<tbody>${body.join('\n')}</tbody></table></div>`;
  return fold === undefined ? table : `<details><summary>${proseHtml(fold)}</summary>${table}</details>`;
}

/** Titles that are short, or contain their own line breaks, break nowhere else. */
function titleHtml(title: string): string {
  const lines = title.split('\n').map(escapeHtml).join('<br>');
  return title.length <= SHORT_TITLE || title.includes('\n') ? `<span class="whole">${lines}</span>` : lines;
}

/** The installed plotting library, compressed: base64 of gzip, 0.7 MB of 1.5. */
function plotly(): string {
  const source = readFileSync(createRequire(import.meta.url).resolve('plotly.js-cartesian-dist-min'));
  return gzipSync(source, { level: 9 }).toString('base64');
}
