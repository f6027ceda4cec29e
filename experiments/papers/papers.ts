import { loadPublished, loadRegister } from '../../datasets/load.ts';
import { type LeftOutTable, leftOutMarkdown, leftOutSection } from '../consistency/left-out.ts';
import { LEFT_OUT_STEPS, primaLeftOut } from '../consistency/prima-left-out.ts';
import { tableBlock, terminalTable } from '../report/columns.ts';
import type { Frame, Results } from '../report/experiment.ts';
import type { Section } from '../report/page/page.ts';
import { aimsMarkdown } from './aims.ts';
import { tablesMarkdown } from './by-table.ts';
import { cellsChart, cellsFinding, cellsHeadline } from './cells-chart.ts';
import type { Comparison, PaperName } from './comparison.ts';
import { contradictionsMarkdown } from './contradicted.ts';
import { type CoverageRule, type CoveredCell, coverageCsv, coverageOf, coverageSection } from './coverage.ts';
import { blindCells, groupsMarkdown } from './groups.ts';
import { HELM_COVERAGE } from './helm/coverage.ts';
import { computeHelm, helmReproduced } from './helm/helm.ts';
import { HETEROLLM_COVERAGE } from './heterollm/coverage.ts';
import { computeHeterollm, heterollmReproduced } from './heterollm/heterollm.ts';
import type { Reproduced } from './paper.ts';
import { PRIMA_COVERAGE } from './prima/coverage.ts';
import { type GivenPrimaOptions, primaOptions, refusePrimaOptions } from './prima/options.ts';
import { computePrima, primaReproduced } from './prima/prima.ts';
import { cellJson, cellsCsv, errorRecord } from './record.ts';
import { registerSection } from './register.ts';
import { PAPER_TITLES, summaryMarkdown, summarySentences, summaryTable } from './summary.ts';

interface Asked {
  readonly options: GivenPrimaOptions;
  readonly seed: number;
}

interface Paper {
  /** Approximate number of cells, for the progress bar. */
  readonly steps: number;
  readonly reproduce: (asked: Asked, step: (label: string) => void) => Promise<Reproduced>;
}

const PAPERS: Readonly<Record<PaperName, Paper>> = {
  prima: {
    steps: 390,
    reproduce: async ({ options, seed }, step) =>
      primaReproduced(await computePrima(primaOptions(options), step), seed),
  },
  helm: { steps: 180, reproduce: async (_, step) => helmReproduced(computeHelm(step)) },
  heterollm: { steps: 51, reproduce: async (_, step) => heterollmReproduced(computeHeterollm(step)) },
};

/** Treatment of the numbers in a paper's files that it does not compare. */
export const COVERAGE: Readonly<
  Record<PaperName, { readonly files: readonly string[]; readonly rules: readonly CoverageRule[] }>
> = {
  prima: { files: ['prima-cpp', 'prima-cpp-v1'], rules: PRIMA_COVERAGE },
  helm: { files: ['helm'], rules: HELM_COVERAGE },
  heterollm: { files: ['heterollm'], rules: HETEROLLM_COVERAGE },
};

/** Accounts for every number that a paper prints. */
export function coveredCells(paper: PaperName, comparisons: readonly Comparison[]): CoveredCell[] {
  const { files, rules } = COVERAGE[paper];
  const cells = loadPublished().filter((cell) => files.includes(cell.paper));
  return coverageOf(cells, comparisons, rules);
}

const NAMES = Object.keys(PAPERS) as PaperName[];
/** `all`: every paper in one report. */
export const PAPER_NAMES: readonly (PaperName | 'all')[] = [...NAMES, 'all'];

/** Width of summaries on a terminal, in columns. */
const WIDTH = 150;

/**
 * Compares a paper, or all of them, with predictions and simulations. @throws InputError for another paper's options
 */
export async function reproducePaper(name: PaperName | 'all', asked: Asked, { progress }: Frame): Promise<Results> {
  if (name !== 'prima') refusePrimaOptions(asked.options, name);
  if (name === 'all') return reproduceAll(asked, progress);
  const { steps, reproduce } = PAPERS[name];
  const { page, clusters, csv, data, text } = await reproduce(asked, progress(steps).step);
  return {
    subtitle: page.subtitle,
    findings: [page.summary].flat(),
    data,
    text,
    page,
    files: { 'cells.csv': csv },
    clusters,
  };
}

/** Reproduces every paper in turn. */
async function reproduceAll(asked: Asked, progress: Frame['progress']): Promise<Results> {
  const { step } = progress(NAMES.reduce((sum, name) => sum + PAPERS[name].steps, LEFT_OUT_STEPS));
  const papers = {
    prima: await PAPERS.prima.reproduce(asked, step),
    helm: await PAPERS.helm.reproduce(asked, step),
    heterollm: await PAPERS.heterollm.reproduce(asked, step),
  };
  return allResults(papers, await primaLeftOut(step));
}

/**
 * One report of all papers: their summaries first, then every paper with all its sections.
 * @param leftOut prima.cpp's tables, judged with values of its testbeds that were chosen without them
 */
export function allResults(papers: Readonly<Record<PaperName, Reproduced>>, leftOut: readonly LeftOutTable[]): Results {
  const comparisons = NAMES.flatMap((name) => papers[name].comparisons);
  const summary = NAMES.flatMap((name) => papers[name].summary);
  const coveredIn = (name: PaperName) => coveredCells(name, papers[name].comparisons);
  const byPaper = { prima: coveredIn('prima'), helm: coveredIn('helm'), heterollm: coveredIn('heterollm') };
  const covered = NAMES.flatMap((name) => byPaper[name]);
  const register = loadRegister();
  const blind = blindCells(register);
  return {
    subtitle: `${comparisons.length} comparisons with what prima.cpp, HELM and HeteroLLM print`,
    findings: summarySentences(summary, comparisons),
    data: { experiment: 'reproduce', paper: 'all', summary, cells: comparisons.map(cellJson) },
    text: NAMES.map((name) => `${PAPER_TITLES[name]}\n${terminalTable(summaryTable(papers[name].summary), WIDTH)}`),
    files: {
      'cells.csv': cellsCsv(comparisons, blind),
      'coverage.csv': coverageCsv(covered),
      'summary.md': summaryMarkdown(summary),
      ...Object.assign({}, ...NAMES.map((name) => papers[name].files)),
      'aims.md': aimsMarkdown(NAMES.flatMap((name) => papers[name].aims)),
      'left-out.md': leftOutMarkdown(leftOut),
      'contradictions.md': contradictionsMarkdown(papers),
      'groups.md': groupsMarkdown(comparisons, blind),
      'tables.md': tablesMarkdown(byPaper, comparisons, blind),
      'errors.csv': errorRecord(comparisons),
    },
    clusters: NAMES.flatMap((name) => papers[name].clusters),
    page: {
      title: 'Three papers, cell by cell',
      search: true,
      headline: cellsHeadline(comparisons),
      findings: NAMES.flatMap((name) => cellsFinding(name, comparisons)),
      sections: [
        {
          title: 'Summary',
          blocks: [
            cellsChart(comparisons, blind),
            {
              kind: 'text',
              text: 'A line per group of cells. Errors are over prints that no constant was fitted to; fitted ones are counted and in no error. Configurations are what the prints are about: prints of one quantity count once. Nearly all cells were seen by whoever made the models (datasets/published/PROTOCOL.md). Predicted: closed forms; simulated: event by event; "judged" is the answer that is held against the target. Without a target nothing is claimed.',
            },
            ...NAMES.map((name) =>
              tableBlock({ ...summaryTable(papers[name].summary), sparse: true }, { title: PAPER_TITLES[name] }),
            ),
          ],
        },
        ...[leftOutSection(leftOut), registerSection(register), coverageSection(covered)].map((section) => ({
          ...section,
          part: 'All papers: left out, register and coverage',
        })),
        ...NAMES.flatMap((name) => sectionsOf(name, papers[name])),
      ],
    },
  };
}

/** The sections of one paper's page as a part of its name; its summary precedes the first. */
function sectionsOf(name: PaperName, { page: { sections, summary, subtitle } }: Reproduced): Section[] {
  const introduction = [subtitle, ...[summary].flat()].map((text) => ({ kind: 'text', text }) as const);
  return sections.map(({ title, blocks }, index) => ({
    title,
    part: PAPER_TITLES[name],
    blocks: [...(index === 0 ? introduction : []), ...blocks],
  }));
}
