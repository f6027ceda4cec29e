import type { PublishedCell } from '../../../datasets/published.ts';
import { type Testbed, trueCluster } from '../../../datasets/testbeds.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import type { Mix } from '../../../engine/model/mix.ts';
import type { Model } from '../../../engine/model/model.ts';
import type { IntegerSolver } from '../../../engine/schedule/integer-solver.ts';
import { type Comparison, type Rule, useOf } from '../comparison.ts';
import type { Contradiction } from './contradictions.ts';
import { digitRange } from './digits.ts';
import { draftOf } from './drafts.ts';
import { type Execution, execute, type Job } from './execute.ts';
import type { PrimaOptions } from './options.ts';
import { policiesOf, type SystemPolicy } from './policies.ts';
import { isSamePrint, versionOf } from './program.ts';
import { deviceOf, metricOf, predictedQuantity, quantityOf, simulatedQuantity, unitOf } from './quantities.ts';
import { settingsOf } from './settings.ts';
import { type PaperTable, type Target, targetOf } from './tables.ts';

/** Details of a compared cell of prima.cpp's tables. */
export interface PrimaDetail {
  readonly table: PaperTable;
  /** undefined: the workbench doesn't model the system. */
  readonly policy: SystemPolicy | undefined;
  readonly execution: Execution | undefined;
  /** Source of the target; undefined where nothing is claimed. */
  readonly aim: Target | undefined;
  /** Other numbers of the paper exclude the cell under this policy: its figures are shown, and aren't counted. */
  readonly contradiction: Contradiction | undefined;
  /** A value of the testbed was chosen with the cell. */
  readonly seen: boolean;
  /** Predicted seconds over the memories that round to the printed ones; undefined where they are not asked. */
  readonly digits?: readonly [low: number, high: number] | undefined;
}

const NEWEST = 'prima-cpp';

export type PrimaComparison = Comparison<PrimaDetail>;

export interface PrimaInputs {
  readonly table: PaperTable;
  readonly cells: readonly PublishedCell[];
  /** Every published cell, for the program that a cell was measured with. */
  readonly published: readonly PublishedCell[];
  readonly testbed: Testbed;
  /** The devices as the paper states them. */
  readonly belief: Cluster;
  /** By name, in the catalogue's format unless another is asked for. */
  readonly modelOf: (name: string, mix?: Mix) => Model;
  readonly options: PrimaOptions;
  readonly contradictions: readonly Contradiction[];
  readonly solver: IntegerSolver;
}

/** The cells of a table that are results of systems, in its order; of the first version those that differ from the newest. */
export function cellsOf(cells: readonly PublishedCell[], table: PaperTable): PublishedCell[] {
  const paper: string = table.paper ?? NEWEST;
  const title = `Table ${table.number.replace('v1-', '')}`;
  const own = cells.filter((cell) => cell.paper === paper && cell.table === title && metricOf(cell) !== undefined);
  if (paper === NEWEST) return own;
  const others = cells.filter((cell) => cell.paper === NEWEST);
  return own.filter((cell) => !others.some((other) => isSamePrint(cell, other)));
}

/** A rule per cell of a table and policy of its system; cells that print `-` were not run, and have none. */
export function tableRules(inputs: PrimaInputs): Rule<PrimaDetail>[] {
  const { table, cells, testbed } = inputs;
  const executions = new Map<string, Execution>();
  const fitted = new Set(
    inputs.published.filter((cell) => isFitted(testbed, cell)).map((cell) => configurationOf(inputs, cell)),
  );
  return cells.flatMap((cell): Rule<PrimaDetail>[] => {
    if (cell.value === 'unsupported') return [];
    // Alternatives differ in where layers run and what is reloaded, which is shown for the time of a token only.
    const all = policiesOf(cell.system, table.number);
    const policies = cell.metric === 'tpot' ? all : [mainFor(cell, all)].flatMap((one) => one ?? []);
    const printed = typeof cell.value === 'number' ? cell.value : undefined;
    const unit = unitOf(cell.metric);
    const given = {
      paper: 'prima',
      cell,
      unit,
      published: quantityOf(cell),
      noise:
        cell.noise === undefined || printed === undefined ? undefined : cell.noise / (unit === 'share' ? 100 : printed),
      // Other prints of a fitted quantity are fitted too, in all but name.
      use: fitted.has(configurationOf(inputs, cell)) ? 'fit' : useOf(cell),
      configuration: configurationOf(inputs, cell),
    } as const;
    if (policies.length === 0) return [{ ...given, policy: '', answer: () => notModelled(table) }];
    return policies.map((policy) => ({
      ...given,
      policy: policy.name,
      answer: () => answered(inputs, cell, policy, executions),
    }));
  });
}

/** The reading that stands for a cell of TTFT or memory: of memory the one that has the program's own formats. */
function mainFor({ metric }: PublishedCell, all: readonly SystemPolicy[]): SystemPolicy | undefined {
  const own = metric === 'memory-pressure' ? all.find(({ footprint }) => footprint !== undefined) : undefined;
  return own ?? all[0];
}

/** Subject of a print: distillations have the shapes of what they are distilled into. */
function configurationOf({ testbed, published }: PrimaInputs, cell: PublishedCell): string {
  const { system, model, metric } = cell;
  const device = metric === 'memory-pressure' ? deviceOf(cell) : '';
  // Drafts differ between models of one shape, and so does how many are accepted.
  const drafted = system === 'prima.cpp-speculative' ? cell.row : '';
  return [testbed.name, system, versionOf(cell, published), model, metric, device, drafted].join('\n');
}

/** Whether a constant or a value of the testbed was chosen with the cell. */
function isFitted(testbed: Testbed, cell: PublishedCell): boolean {
  return wasSeen(testbed, cell) || (cell.use === 'fit' && cell.cluster.startsWith(testbed.belief));
}

/** Whether a value of the testbed was chosen with the cell. */
function wasSeen({ unknowns }: Testbed, { table, row, column }: PublishedCell): boolean {
  return unknowns.some(({ seen }) => seen.includes(`${table}, ${row}, ${column}`));
}

/** The job of a cell: its system on the testbed of its table. */
export function jobOf(inputs: PrimaInputs, cell: PublishedCell, policy: SystemPolicy): Job {
  const { belief: stated, testbed, published, modelOf, options } = inputs;
  const model = modelOf(cell.model, policy.mix);
  const { program } = policy;
  const settings = settingsOf({ testbed, stated, published, options, program, cell, model });
  const isStated = policy.reclaiming?.memory === 'stated';
  const truth = isStated ? trueCluster({ stated: testbed.stated, unknowns: [] }, settings.belief) : settings.truth;
  const draft = policy.drafts === true ? draftOf(cell, published, modelOf) : undefined;
  return { policy, model, warm: options.warm === 'run', ...settings, truth, draft };
}

/** @param executions what cells of one policy and model share */
function answered(
  inputs: PrimaInputs,
  cell: PublishedCell,
  policy: SystemPolicy,
  executions: Map<string, Execution>,
): ReturnType<Rule<PrimaDetail>['answer']> {
  const { table } = inputs;
  const job = jobOf(inputs, cell, policy);
  const { version, model, draft } = job;
  const { name, mix } = model;
  const key = [policy.name, policy.prefetch, policy.planner, version, name, mix, draft?.model.name].join('\n');
  const execution = executions.get(key) ?? execute(job, inputs.solver);
  executions.set(key, execution);
  const isClaimed = cell.metric === 'tpot' && policy.claimed;
  const contradiction = isClaimed ? contradictionOf(inputs, cell) : undefined;
  const digits =
    isClaimed && policy.planner === 'halda-line-13' ? digitRange(inputs.testbed, job, inputs.solver) : undefined;
  const aim = isClaimed && contradiction === undefined ? targetOf(table.number, cell.system, cell.model) : undefined;
  return {
    predicted: predictedQuantity(cell, execution, job.truth),
    simulated: simulatedQuantity(cell, execution),
    target: aim?.limit,
    detail: { table, policy, execution, aim, contradiction, seen: wasSeen(inputs.testbed, cell), digits },
  };
}

function notModelled(table: PaperTable): ReturnType<Rule<PrimaDetail>['answer']> {
  return {
    predicted: undefined,
    simulated: undefined,
    target: undefined,
    detail: {
      table,
      policy: undefined,
      execution: undefined,
      aim: undefined,
      contradiction: undefined,
      seen: false,
    },
  };
}

function contradictionOf({ table, contradictions }: PrimaInputs, cell: PublishedCell) {
  return contradictions.find(
    (one) => one.table === table.number && one.system === cell.system && one.model === cell.model,
  );
}
