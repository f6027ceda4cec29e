import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import type { Figure } from '../charts/chart.ts';
import { figureName } from '../charts/figure-name.ts';
import { CHARTS } from './charts-script.ts';
import { escapeHtml, proseHtml, scriptJson, scriptText } from './html.ts';
import { STYLE } from './style.ts';
import { TABLES } from './tables-script.ts';

/** A report: a self-contained page for a browser. */
export interface Page {
  readonly title: string;
  /** The run in one line: inputs and settings. */
  readonly subtitle: string;
  /** The finding in one sentence, above its picture; the first sentence of the summary unless given. */
  readonly headline?: string;
  /** At most three short lines below the picture, each with its figure first. */
  readonly findings?: readonly string[];
  /** The summary: one or more paragraphs, which follow below the charts. */
  readonly summary: string | readonly string[];
  /** The first chart of all is the page's picture: it stands on top. */
  readonly sections: readonly Section[];
  /** For pages of many tables: a search for rows. */
  readonly search?: boolean;
}

export interface Section {
  readonly title: string;
  /** Sections that follow each other and name the same part are folded together. */
  readonly part?: string;
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
  /** Explanation of the chart, or how to read it. */
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
  /** The reader may choose one of its values; only rows with that are shown then. */
  readonly filter?: boolean;
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
/** Letters from which on a cell takes the room of the empty ones after it. */
const LONG_CELL = 40;
/** Letters from which on a cell makes its column one of text, which isn't squeezed to single words. */
const TEXT_CELL = 20;

/**
 * The page as HTML: title, finding, its picture, findings in figures, then sections with charts, the summary, and other
 * sections. Style, figures and the plotting library are inside, and its content security policy forbids the browser any
 * request.
 */
export function renderPage(page: Page): string {
  const has = (wanted: Block['kind']): boolean =>
    page.sections.some(({ blocks }) => blocks.some(({ kind }) => kind === wanted));
  const charts = has('chart') ? `<script type="application/gzip" id="plotly">${plotly()}</script>` : '';
  const programs = [...(has('chart') ? [CHARTS] : []), ...(has('table') ? [TABLES] : [])];
  const scripts = [charts, ...programs.map((text) => `<script>${scriptText(text)}</script>`)].join('\n');
  const { headline, picture, sections } = arrangePage(page);
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
<body${isListed(sections) ? ' class="listed"' : ''}>
<main>
<h1>${escapeHtml(page.title)}</h1>
<p class="headline">${proseHtml(headline)}</p>
${picture === undefined ? '' : renderChart(picture)}
${findingsList(page.findings ?? [])}
<p class="subtitle">${proseHtml(page.subtitle)}</p>
${contents(sections, page.search ?? false)}
${partsOf(sections)
  .map((part) => renderPart(part, tableNames(sections)))
  .join('\n')}
</main>
${scripts}
</body>
</html>
`;
}

function findingsList(findings: readonly string[]): string {
  if (findings.length === 0) return '';
  return `<ul class="findings">${findings.map((text) => `<li>${proseHtml(text)}</li>`).join('')}</ul>`;
}

/** Contents of a page, in order. */
interface Arranged {
  readonly headline: string;
  /** The first chart, if there is one; it stands below the headline. */
  readonly picture: ChartBlock | undefined;
  readonly sections: readonly Section[];
}

/** Letters of a headline; longer sentences are for the summary. */
const LONGEST_HEADLINE = 200;

/**
 * Puts the finding and its picture first, and what is left of the summary behind the last section with a chart: behind the
 * first where sections are folded into parts.
 */
function arrangePage({ headline, summary, sections }: Page): Arranged {
  const paragraphs = [summary].flat().filter((text) => text !== '');
  const [first = ''] = paragraphs;
  const sentence = headline ?? (first.length <= LONGEST_HEADLINE ? first : firstSentence(first));
  const rest = headline === undefined && sentence === first ? paragraphs.slice(1) : paragraphs;
  const picture = sections.flatMap(({ blocks }) => blocks).find((block) => block.kind === 'chart');
  const others = sections.flatMap((section): Section[] => {
    const blocks = section.blocks.filter((block) => block !== picture);
    return blocks.length === 0 && section.blocks.length > 0 ? [] : [{ ...section, blocks }];
  });
  const folded = others.findIndex(({ part }) => part !== undefined);
  const charts = others.findLastIndex(({ blocks }) => blocks.some(({ kind }) => kind === 'chart'));
  const at = folded >= 0 ? folded : charts + 1;
  const findings: Section[] =
    rest.length === 0 ? [] : [{ title: 'The findings in full', blocks: rest.map((text) => ({ kind: 'text', text })) }];
  return { headline: sentence, picture, sections: [...others.slice(0, at), ...findings, ...others.slice(at)] };
}

/** A text up to the end of its first sentence: a full stop before a space and a capital. */
function firstSentence(text: string): string {
  return /^.*?[.?!](?=\s+[A-Z]|$)/s.exec(text)?.[0] ?? text;
}

/** More sections than these are listed in a column of their own. */
const MOST_LINKS = 8;

function isListed(sections: readonly Section[]): boolean {
  return sections.length > MOST_LINKS;
}

interface Numbered extends Section {
  readonly id: string;
}

/** Sections by part, in order; those without one stand alone. */
function partsOf(sections: readonly Section[]): { readonly part: string | undefined; readonly sections: Numbered[] }[] {
  const parts: { part: string | undefined; sections: Numbered[] }[] = [];
  for (const [index, section] of sections.entries()) {
    const numbered = { ...section, id: `section-${index + 1}` };
    const last = parts.at(-1);
    if (last !== undefined && last.part === section.part) last.sections.push(numbered);
    else parts.push({ part: section.part, sections: [numbered] });
  }
  return parts;
}

/** Links to the sections, where there are several; fixed, with a search, where there are many. */
function contents(sections: readonly Section[], search: boolean): string {
  if (sections.length < 3) return '';
  const items = partsOf(sections).flatMap(({ part, sections: own }) => [
    ...(part === undefined ? [] : [`<li class="part">${escapeHtml(part)}</li>`]),
    ...own.map(({ id, title }) => `<li><a href="#${id}">${escapeHtml(title)}</a></li>`),
  ]);
  const field = search
    ? '<label class="choice">Search <input type="search" id="search" placeholder="rows with all of these words"></label><p class="found" id="found" role="status"></p>'
    : '';
  const list = `<ol>${items.join('')}</ol>`;
  const shown = isListed(sections) ? `<details open><summary>Contents</summary>${list}</details>` : list;
  return `<nav class="contents" aria-label="Contents">${field}${shown}</nav>`;
}

/** A name for the region of each table, for screen readers: its title or its section's, numbered if it occurs again. */
function tableNames(sections: readonly Section[]): ReadonlyMap<Block, string> {
  const names = new Map<Block, string>();
  const counts = new Map<string, number>();
  for (const { title: sectionTitle, blocks } of sections) {
    for (const block of blocks) {
      if (block.kind !== 'table') continue;
      const name = block.title ?? block.fold ?? sectionTitle;
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      names.set(block, count === 1 ? name : `${name} (${count})`);
    }
  }
  return names;
}

function renderPart({ part, sections }: ReturnType<typeof partsOf>[number], names: ReadonlyMap<Block, string>): string {
  const text = sections.map((section) => renderSection(section, names)).join('\n');
  return part === undefined ? text : `<details class="part"><summary>${escapeHtml(part)}</summary>${text}</details>`;
}

function renderSection({ id, title, blocks }: Numbered, names: ReadonlyMap<Block, string>): string {
  const shown = blocks.map((block) => renderBlock(block, names));
  return `<section id="${id}">\n<h2>${escapeHtml(title)}</h2>\n${shown.join('\n')}\n</section>`;
}

function renderBlock(block: Block, names: ReadonlyMap<Block, string>): string {
  switch (block.kind) {
    case 'text':
      return paragraph(block.text);
    case 'chart':
      return renderChart(block);
    case 'table':
      return renderTable(block, names.get(block) ?? '');
  }
}

function paragraph(text: string): string {
  return `<p>${proseHtml(text)}</p>`;
}

function renderChart({ title, note, variants, choose = 'Show' }: ChartBlock): string {
  const options = variants.map(({ label }) => `<option>${escapeHtml(label)}</option>`).join('');
  const select =
    variants.length < 2 ? '' : `<label class="choice">${escapeHtml(choose)} <select>${options}</select></label>`;
  const names = variants.map(({ label }) => figureName(title, label));
  const saves = ['svg', 'png'].map(
    (format) =>
      `<button type="button" data-format="${format}" aria-label="Save ${escapeHtml(title)} as ${format.toUpperCase()}">${format.toUpperCase()}</button>`,
  );
  return `<figure data-names="${escapeHtml(JSON.stringify(names))}">
<header><figcaption>${escapeHtml(title)}</figcaption><span class="saves">${saves.join('')}</span></header>
${note === undefined ? '' : `<p class="note">${proseHtml(note)}</p>`}
${select}
<div class="plot"></div>
<script type="application/json">${scriptJson(variants.map(({ figure }) => figure))}</script>
</figure>`;
}

function renderTable(block: TableBlock, name: string): string {
  const { title, columns, rows, tones = [], fold, groups = false } = block;
  const side = (index: number, tone?: Tone, others: readonly string[] = []): string => {
    const { align, label } = columns[index] ?? {};
    const names = [align === 'right' ? ['right'] : label === true ? ['label'] : [], tone ?? [], others].flat();
    return names.length === 0 ? '' : ` class="${names.join(' ')}"`;
  };
  const isText = (index: number): boolean =>
    columns[index]?.align !== 'right' && rows.some((row) => (row[index]?.length ?? 0) > TEXT_CELL);
  const head = columns
    .map((column, index) => {
      const place = isText(index) ? side(index, undefined, ['text']) : side(index);
      return `<th scope="col"${place}>${titleHtml(column.title)}</th>`;
    })
    .join('');
  const repeated = (at: number): boolean => groups && at > 0 && rows[at]?.[0] === rows[at - 1]?.[0];
  const hasGroups = rows.some((_, at) => repeated(at));
  const body = rows.map((row, at) => {
    const repeats = repeated(at);
    const shown = row.map((cell, index) => (repeats && index === 0 ? '' : cell));
    const cells = shown.flatMap((cell, index) => {
      const room = shown.slice(index + 1).findIndex((other) => other !== '');
      const empty = room < 0 ? shown.length - index - 1 : room;
      if (cell === '' && isCovered(shown, index)) return [];
      const span = cell.length > LONG_CELL && empty > 0 ? ` colspan="${empty + 1}"` : '';
      return [`<td${side(index, tones[at]?.[index])}${span}>${proseHtml(cell)}</td>`];
    });
    return `<tr${hasGroups && at > 0 && !repeats ? ' class="group"' : ''}>${cells.join('')}</tr>`;
  });
  const caption = title === undefined ? '' : `<caption>${escapeHtml(title)}</caption>`;
  const table = `${filterOf(columns, rows)}<div class="scroll" tabindex="0" role="region" aria-label="${escapeHtml(name)}"><table${hasGroups ? ' data-groups' : ''}>${caption}<thead><tr>${head}</tr></thead>\n<tbody>${body.join('\n')}</tbody></table></div>`;
  return fold === undefined ? table : `<details><summary>${proseHtml(fold)}</summary>${table}</details>`;
}

/** An empty cell whose room a long one before it takes. */
function isCovered(row: readonly string[], index: number): boolean {
  const before = row.slice(0, index).findLast((cell) => cell !== '');
  return before !== undefined && before.length > LONG_CELL;
}

/** A menu of the values of the column that rows are filtered by. */
function filterOf(columns: readonly ReportColumn[], rows: TableBlock['rows']): string {
  const at = columns.findIndex(({ filter }) => filter === true);
  const values = [...new Set(rows.map((row) => row[at] ?? ''))].filter((value) => value !== '');
  if (at < 0 || values.length < 2) return '';
  const options = values.map((value) => `<option>${escapeHtml(value)}</option>`).join('');
  return `<p class="filter"><label class="choice">${escapeHtml(columns[at]?.title ?? '')} <select data-column="${at}"><option value="">all</option>${options}</select></label></p>`;
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
