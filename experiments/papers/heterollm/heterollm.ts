import {
  type LoadedCluster,
  loadCatalogue,
  loadClusterFile,
  loadPublished,
  namedW4a16Model,
} from '../../../datasets/load.ts';
import type { PublishedCell } from '../../../datasets/published.ts';
import type { Model } from '../../../engine/model/model.ts';
import { type Column, tableCsv, tableJson, terminalTable } from '../../report/columns.ts';
import { type Conflict, cellAt, compare, type Rule, useOf } from '../comparison.ts';
import type { Reproduced } from '../paper.ts';
import { type SummaryRow, summaryRow } from '../summary.ts';
import { heterollmConflicts } from './conflicts.ts';
import { createRuns, type Runs } from './machine.ts';
import { engineGains, quantitiesOf } from './quantities.ts';
import { FIGURE_COLUMNS, heterollmPage } from './report.ts';
import { type FigureComparison, type FigureUnit, HETEROLLM_FIGURES } from './rules.ts';

/** Everything about HeteroLLM's figures from which the report and the files are made. */
export interface HeterollmReproduction {
  readonly loaded: LoadedCluster;
  readonly comparisons: readonly FigureComparison[];
  readonly conflicts: readonly Conflict[];
}

/** Predicts and simulates every figure. */
export function computeHeterollm(step: (label: string) => void): HeterollmReproduction {
  const loaded = loadClusterFile('hetero-8gen3');
  const catalogue = loadCatalogue();
  const models = new Map<string, Model>();
  const modelOf = (name: string): Model => {
    const model = models.get(name) ?? namedW4a16Model(catalogue, name, 'datasets/models.csv');
    models.set(name, model);
    return model;
  };
  const runs = createRuns(loaded.cluster, modelOf);
  const published = loadPublished().filter(({ paper }) => paper === 'heterollm');
  const comparisons = compare(figureRules(runs, published), step);
  const conflicts = heterollmConflicts(runs, engineGains(published), loaded.cluster, modelOf);
  return { loaded, comparisons, conflicts };
}

/** A rule per figure. @throws RangeError for a figure that is not on file: a slip in rules.ts */
function figureRules(runs: Runs, cells: readonly PublishedCell[]): Rule<FigureComparison['detail']>[] {
  const engines = engineGains(cells);
  const predictions = quantitiesOf(runs, 'predicted', engines);
  const simulations = quantitiesOf(runs, 'simulated', engines);
  return HETEROLLM_FIGURES.flatMap((group) =>
    group.rules.map((rule) => {
      const cell = cellAt(cells, rule);
      const published = plain(Number(cell.value), rule.unit);
      const noise = cell.noise ?? 0;
      return {
        paper: 'heterollm',
        cell,
        policy: '',
        unit: rule.unit === '%' ? 'x' : rule.unit,
        published,
        noise: rule.unit === 'share' ? noise / 100 : plain(Number(cell.value) + noise, rule.unit) / published - 1,
        use: useOf(cell),
        answer: () => ({
          predicted: rule.value(predictions),
          simulated: rule.value(simulations),
          target: rule.target,
          detail: { group, rule },
        }),
      };
    }),
  );
}

/** A gain of 23.4 % is a ratio of 1.234; a share of 34.6 % is 0.346. */
function plain(value: number, unit: FigureUnit): number {
  if (unit === '%') return 1 + value / 100;
  return unit === 'share' ? value / 100 : value;
}

/** What the command writes and prints. */
export function heterollmReproduced(result: HeterollmReproduction): Reproduced {
  const { comparisons, conflicts, loaded } = result;
  const groups = HETEROLLM_FIGURES.map((group) => {
    const rows = comparisons.filter(({ detail }) => detail.group === group);
    return `${group.title}\n${terminalTable({ columns: FIGURE_COLUMNS, rows }, 150)}`;
  });
  return {
    comparisons,
    summary: heterollmSummary(comparisons),
    conflicts,
    remarks: [],
    page: heterollmPage(comparisons, conflicts),
    clusters: [loaded],
    csv: tableCsv({ columns: FILE_COLUMNS, rows: comparisons }),
    data: {
      experiment: 'reproduce',
      paper: 'heterollm',
      cells: tableJson({ columns: FILE_COLUMNS, rows: comparisons }),
      contradictions: conflicts,
      provenance: loaded.statements,
    },
    text: groups,
  };
}

/** A figure in cells.csv and cells.json. */
const FILE_COLUMNS: readonly Column<FigureComparison>[] = [
  { key: 'table', value: ({ cell }) => cell.table },
  { key: 'row', value: ({ cell }) => cell.row },
  { key: 'column', value: ({ cell }) => cell.column },
  { key: 'model', value: ({ cell }) => cell.model },
  { key: 'system', value: ({ cell }) => cell.system },
  { key: 'unit', value: ({ detail }) => detail.rule.unit },
  { key: 'published', value: ({ published }) => published },
  { key: 'predicted', value: ({ predicted }) => predicted },
  { key: 'simulated', value: ({ simulated }) => simulated },
  { key: 'predictedError', value: ({ predictedError }) => predictedError },
  { key: 'simulatedError', value: ({ simulatedError }) => simulatedError },
  { key: 'noise', value: ({ noise }) => noise },
  { key: 'isFitted', value: ({ use }) => use === 'fit' },
  { key: 'target', value: ({ target }) => target },
];

/** The figures of each section: those with a target, those without, and shares of a time, whose errors are points. */
function heterollmSummary(comparisons: readonly FigureComparison[]): SummaryRow[] {
  return HETEROLLM_FIGURES.flatMap((group) => {
    const kinds = new Map<string, FigureComparison[]>();
    for (const one of comparisons.filter(({ detail }) => detail.group === group)) {
      const kind = `${one.target ?? ''} ${one.unit === 'share'}`;
      kinds.set(kind, [...(kinds.get(kind) ?? []), one]);
    }
    const [, what = group.title, table = ''] = /^(.*) \((.*)\)$/.exec(group.title) ?? [];
    return [...kinds.values()].map((own) => {
      const isShare = own[0]?.unit === 'share';
      return summaryRow({
        paper: 'heterollm',
        table,
        what: `${what}${isShare ? ', shares' : ''}`,
        comparisons: own,
        answer: 'predicted',
        target: own[0]?.target,
        points: isShare,
      });
    });
  });
}
