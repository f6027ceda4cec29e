/**
 * The frame of every experiment: command line, output checks, progress, saving and printing. A script declares its
 * options, computes, and returns its results:
 *
 *     await runExperiment({
 *       name: 'rounds',
 *       description: 'TPOT against the rounds of a ring.',
 *       options: {
 *         cluster: text('--cluster <key>', 'a cluster of datasets/clusters, or a file', 'prima-home'),
 *         most: count('--most-rounds <k>', 'largest k', { default: 10 }),
 *       },
 *       json: 'rounds.json',
 *       files: ['rounds.csv'],
 *       run({ cluster, most, seed }, { progress }) {
 *         const loaded = loadClusterFile(cluster);
 *         const bar = progress(most); // stopped by the frame
 *         …
 *         return {
 *           subtitle: `${cluster}, up to ${most} rounds`,
 *           findings: ['More rounds help.'],
 *           data: { settings, rows },
 *           text: [terminalTable(table)],
 *           files: { 'rounds.csv': tableCsv(table) },
 *           page: { title: 'What rounds do', sections: [{ title: 'TPOT', blocks: [tableBlock(table)] }] },
 *           clusters: [loaded],
 *         };
 *       },
 *     });
 *
 * That gives `--help`, `--seed`, `--json`, `--out` and `--figures`; writes report.html, rounds.json and rounds.csv together or not
 * at
 * all; prints subtitle, text and findings, or the JSON; and ends with code 2 and one line on stderr for bad input
 * (options, files, values), and with 1 and one line for a defect. Options are in options.ts, tables in columns.ts,
 * charts in charts/, blocks of pages in page/page.ts.
 */

import { Command } from 'commander';
import type { LoadedCluster } from '../../datasets/load.ts';
import { formHelp } from '../../engine/terminal/help.ts';
import { createProgress, type Progress } from '../../engine/terminal/progress.ts';
import { reportError, stopWithoutOutput } from '../../engine/terminal/report-error.ts';
import { terminalWidth, wrapText } from '../../engine/terminal/table.ts';
import { drawFigures, figureTools } from './figures/draw-figures.ts';
import { count, declareOptions, type OptionSpecs, type OptionValues, readOptions } from './options.ts';
import { type Page, renderPage } from './page/page.ts';
import { provenanceSection } from './provenance.ts';
import { checkOutput, writeFiles } from './write.ts';

/** Options that the frame adds to every command line. */
export interface CommonOptions {
  readonly seed: number;
  readonly json: boolean;
  readonly out: string;
  /** Folder for the charts as figures of papers; `undefined`: none are drawn. */
  readonly figures: string | undefined;
}

export interface Experiment<Specs extends OptionSpecs> {
  readonly name: string;
  readonly description: string;
  readonly options: Specs;
  /** Name of the file with all results, which `--json` prints. */
  readonly json: string;
  /** Further files and folders (`plans/`) next to it and report.html, for help. */
  readonly files?: readonly string[];
  /** Help on what depends on the seed, and its default. If omitted, the seed is only recorded. */
  readonly seed?: { readonly help?: string; readonly default?: number };
  /** Default folder of the results, `results/NAME` unless given, and how help shows it. */
  readonly out?: { readonly shown: string; readonly of: (options: OptionValues<Specs>) => string };
  /** Text below the options in help. */
  readonly examples?: string;
  /** Returns the results, or `undefined` if there is nothing to publish. */
  readonly run: (
    options: OptionValues<Specs> & CommonOptions,
    frame: Frame,
  ) => Results | undefined | Promise<Results | undefined>;
}

/** Services of the frame while an experiment runs. */
export interface Frame {
  /** A progress bar with the given number of steps, on a terminal only; removed however the experiment ends. */
  readonly progress: (steps: number) => Progress;
}

export interface Results {
  /** One line: inputs and settings. */
  readonly subtitle: string;
  /** The findings in sentences: below the text on a terminal, at the top of the page. */
  readonly findings: readonly string[];
  /** All results, written as JSON; a string is written unchanged. */
  readonly data: unknown;
  /** Tables and other text for a terminal. */
  readonly text: readonly string[];
  /** report.html; subtitle and summary default to those above. */
  readonly page?: Pick<Page, 'title' | 'sections'> & Partial<Page>;
  /** Contents of further files by path: tables as CSV, plans, traces. */
  readonly files?: Readonly<Record<string, string>>;
  /** Files that the experiment wrote to the folder of the results itself. */
  readonly written?: readonly string[];
  /** Clusters whose quantities, with their sources, end the page. */
  readonly clusters?: readonly LoadedCluster[];
}

const FIGURES = '--figures';

/** Runs an experiment with the arguments of the process. */
export async function runExperiment<const Specs extends OptionSpecs>(experiment: Experiment<Specs>): Promise<void> {
  stopWithoutOutput();
  const bars: Progress[] = [];
  const frame: Frame = {
    progress(steps) {
      const bar = createProgress(steps);
      bars.push(bar);
      return bar;
    },
  };
  try {
    const options = readCommandLine(experiment);
    // Missing tools are reported before a long run.
    const tools = options.figures === undefined ? undefined : figureTools(FIGURES);
    const results = await experiment.run(options, frame);
    for (const bar of bars) bar.stop();
    if (results === undefined) return;
    const figures = tools && results.page ? await drawFigures(results.page, tools) : undefined;
    publish(experiment, results, options);
    if (options.figures === undefined || figures === undefined) return;
    writeFiles(options.figures, figures, FIGURES);
    process.stderr.write(`${figures.size} files of figures are in ${options.figures}\n`);
  } catch (error) {
    for (const bar of bars) bar.stop();
    process.exitCode = reportError(error, experiment.name);
  }
}

function readCommandLine<Specs extends OptionSpecs>(
  experiment: Experiment<Specs>,
): OptionValues<Specs> & CommonOptions {
  const { name, description, json, files = [], seed, out, examples } = experiment;
  const standard = `results/${name}`;
  const command = new Command(name).description(description);
  command.exitOverride().configureOutput({ outputError: () => {} });
  command.showSuggestionAfterError().allowExcessArguments(false).helpOption('-h, --help', 'show this help');
  formHelp(command);
  declareOptions(command, {
    ...experiment.options,
    seed: seedOption(seed),
  });
  command.option('--json', `print ${json} in place of tables`);
  command.option(
    '--out <dir>',
    `where report.html, ${[...files, json].join(', ')} go (default: "${out?.shown ?? standard}")`,
  );
  command.option(
    `${FIGURES} <dir>`,
    'also draw every chart for papers: SVG and PDF in one and two columns’ width, and CSV (needs Chromium)',
  );
  if (examples !== undefined) command.addHelpText('after', `\n${examples}`);
  command.parse();
  const given: { readonly json?: boolean; readonly out?: string; readonly figures?: string } = command.opts();
  // Reports a folder that can't be written to before any inputs are read.
  if (given.out !== undefined || out === undefined) checkOutput(given.out ?? standard);
  const read = readOptions(command, experiment.options);
  const folder = given.out ?? out?.of(read) ?? standard;
  checkOutput(folder);
  if (given.figures !== undefined) checkOutput(given.figures, FIGURES);
  const common = { json: given.json === true, out: folder, figures: given.figures };
  return { ...read, ...readOptions(command, { seed: seedOption(seed) }), ...common };
}

function seedOption({
  help = 'recorded: nothing here is random',
  default: standard = 1,
}: NonNullable<Experiment<OptionSpecs>['seed']> = {}) {
  return count('--seed <n>', help, { default: standard, least: 0, most: 2 ** 32 - 1 });
}

/** Writes all files, and prints. */
function publish(
  { json: jsonName }: Pick<Experiment<OptionSpecs>, 'json'>,
  { subtitle, findings, data, text, page, files = {}, written: before = [], clusters = [] }: Results,
  { json, out }: CommonOptions,
): void {
  const jsonText = typeof data === 'string' ? data : fileJson(data);
  const written = new Map(Object.entries(files)).set(jsonName, jsonText);
  if (page !== undefined) {
    const sections = [...page.sections, ...(clusters.length === 0 ? [] : [provenanceSection(clusters)])];
    written.set('report.html', renderPage({ subtitle, summary: findings, ...page, sections }));
  }
  writeFiles(out, written);
  if (json) {
    process.stdout.write(jsonText);
    return;
  }
  const width = terminalWidth() - 2;
  const paragraphs = [
    wrapText(subtitle, width).join('\n'),
    ...text,
    wrapText(findings.join(' '), width).join('\n'),
    savedLine(out, [...before, ...written.keys()]),
  ];
  const shown = paragraphs.map((paragraph) => paragraph.trimEnd()).filter((paragraph) => paragraph !== '');
  process.stdout.write(`${shown.join('\n\n')}\n`);
}

/** JSON as written to a file. */
export function fileJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/**
 * `Report: results/rounds/report.html (next to it rounds.csv, rounds.json)`; folders are named with their files' number.
 */
function savedLine(out: string, paths: readonly string[]): string {
  const first = paths.includes('report.html') ? 'report.html' : (paths.at(-1) ?? '');
  const others = paths.filter((path) => path !== first && !path.includes('/')).sort();
  const folders = [...new Set(paths.filter((path) => path.includes('/')).map((path) => path.split('/')[0] as string))];
  const counted = folders.map((folder) => {
    const inside = paths.filter((path) => path.startsWith(`${folder}/`)).length;
    return `${inside} ${inside === 1 ? 'file' : 'files'} in ${folder}/`;
  });
  const beside = [...others, ...counted].join(', ');
  return `${first === 'report.html' ? 'Report' : 'Results'}: ${out}/${first}${beside === '' ? '' : ` (next to it ${beside})`}`;
}
