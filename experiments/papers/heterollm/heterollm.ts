import {
  type LoadedCluster,
  loadCatalogue,
  loadClusterFile,
  loadPublished,
  namedW4a16Model,
} from '../../../datasets/load.ts';
import type { PublishedCell } from '../../../datasets/published.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import type { Model } from '../../../engine/model/model.ts';
import { type Column, tableCsv, tableJson, terminalTable } from '../../report/columns.ts';
import { type Conflict, cellAt, compare, inPoints, type Rule, useOf } from '../comparison.ts';
import type { Reproduced } from '../paper.ts';
import { type SummaryRow, summaryRow } from '../summary.ts';
import { heterollmAims } from './aims.ts';
import { heterollmConflicts } from './conflicts.ts';
import { createEngines, type Engines } from './engines.ts';
import { DISPLAY_RATE } from './game.ts';
import { createRuns, type Runs } from './machine.ts';
import { type Quantities, quantitiesOf } from './quantities.ts';
import { FIGURE_COLUMNS, heterollmPage } from './report.ts';
import type { FigureComparison, FigureRule, FigureUnit } from './rules/rule.ts';
import { HETEROLLM_FIGURES } from './rules.ts';

/** Everything about HeteroLLM's figures from which the report and the files are made. */
export interface HeterollmReproduction {
  readonly loaded: LoadedCluster;
  readonly comparisons: readonly FigureComparison[];
  readonly conflicts: readonly Conflict[];
}

/** Predicts and simulates every figure. */
export function computeHeterollm(step: (label: string) => void): HeterollmReproduction {
  const loaded = loadClusterFile(HETEROLLM_MACHINE);
  const { rules, runs, engines, modelOf } = heterollmRules(loaded.cluster);
  const comparisons = compare(rules, step);
  const conflicts = heterollmConflicts(runs, engines, loaded.cluster, modelOf);
  return { loaded, comparisons, conflicts };
}

/** The chip's file in datasets/clusters. */
export const HETEROLLM_MACHINE = 'hetero-8gen3';

/** A rule per figure on a machine, and what they are answered with. */
export function heterollmRules(cluster: Cluster) {
  const catalogue = loadCatalogue();
  const models = new Map<string, Model>();
  const modelOf = (name: string): Model => {
    const model = models.get(name) ?? namedW4a16Model(catalogue, name, 'datasets/models.csv');
    models.set(name, model);
    return model;
  };
  const runs = createRuns(cluster, modelOf);
  const published = loadPublished().filter(({ paper }) => paper === 'heterollm');
  const engines = createEngines(published, cluster, modelOf);
  return { rules: figureRules(runs, engines, published), runs, engines, modelOf };
}

/** A rule per figure. @throws RangeError for a figure that is not on file: a slip in rules.ts */
function figureRules(
  runs: Runs,
  engines: Engines,
  cells: readonly PublishedCell[],
): Rule<FigureComparison['detail']>[] {
  const predictions = quantitiesOf(runs, 'predicted', engines);
  const simulations = quantitiesOf(runs, 'simulated', engines);
  return HETEROLLM_FIGURES.flatMap((group) =>
    group.rules.map((rule) => {
      const cell = cellAt(cells, rule);
      const published = plain(Number(cell.value), rule.unit);
      const noise = cell.noise ?? 0;
      const unit = UNITS[rule.unit] ?? rule.unit;
      return {
        paper: 'heterollm',
        cell,
        policy: '',
        unit,
        published,
        noise: inPoints(unit) ? plain(noise, rule.unit) : noise / Number(cell.value),
        use: useOf(cell),
        answer: () => ({
          predicted: figureOf(rule, predictions),
          simulated: figureOf(rule, simulations),
          target: rule.target,
          detail: { group, rule },
        }),
      };
    }),
  );
}

/** How figures are compared whose unit doesn't say it. */
const UNITS: Partial<Record<FigureUnit, string>> = { '%': 'gain', FPS: 'share' };

/** A gain of 23.4 % is 0.234, and so is a share; 60 frames per second are 1. */
function plain(value: number, unit: FigureUnit): number {
  if (unit === 'FPS') return value / DISPLAY_RATE;
  return unit === '%' || unit === 'share' ? value / 100 : value;
}

/** A figure here. A gain is what a ratio exceeds 1 by. */
function figureOf({ value, unit }: FigureRule, quantities: Quantities): number | undefined {
  const found = value(quantities);
  return found === undefined ? undefined : found - (unit === '%' ? 1 : 0);
}

/** Files and text of the command. */
export function heterollmReproduced(result: HeterollmReproduction): Reproduced {
  const { comparisons, conflicts, loaded } = result;
  const groups = HETEROLLM_FIGURES.map((group) => {
    const rows = comparisons.filter(({ detail }) => detail.group === group);
    return `${group.title}\n${terminalTable({ columns: FIGURE_COLUMNS, rows }, 150)}`;
  });
  return {
    comparisons,
    summary: heterollmSummary(comparisons),
    aims: heterollmAims(comparisons),
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

/** How errors are counted: relative, or in points for shares of a whole and for gains. */
function kindOf({ unit }: FigureComparison): '' | ', shares' | ', gains' {
  return unit === 'share' ? ', shares' : unit === 'gain' ? ', gains' : '';
}

/** The figures of each section: those with a target, those without, and shares and gains, whose errors are points. */
function heterollmSummary(comparisons: readonly FigureComparison[]): SummaryRow[] {
  return HETEROLLM_FIGURES.flatMap((group) => {
    const kinds = new Map<string, FigureComparison[]>();
    for (const one of comparisons.filter(({ detail }) => detail.group === group)) {
      const kind = `${one.target ?? ''} ${kindOf(one)}`;
      kinds.set(kind, [...(kinds.get(kind) ?? []), one]);
    }
    const [, what = group.title, table = ''] = /^(.*) \((.*)\)$/.exec(group.title) ?? [];
    return [...kinds.values()].map((own) => {
      const kind = own[0] === undefined ? '' : kindOf(own[0]);
      return summaryRow({
        paper: 'heterollm',
        table,
        what: `${what}${kind}`,
        comparisons: own,
        answer: 'simulated',
        target: own[0]?.target,
        points: kind !== '',
      });
    });
  });
}
