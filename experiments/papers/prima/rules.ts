import type { PublishedCell } from '../../../datasets/published.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import type { Mix } from '../../../engine/model/mix.ts';
import type { Model } from '../../../engine/model/model.ts';
import type { IntegerSolver } from '../../../engine/schedule/integer-solver.ts';
import type { PrimaOptions } from '../options.ts';
import type { Contradiction } from './contradictions.ts';
import { type Execution, execute } from './execute.ts';
import { trueCluster } from './machines.ts';
import { policiesOf, type SystemPolicy } from './policies.ts';
import { runtimeOf, workloadOf } from './program.ts';
import { errorOf, metricOf, type Quantity, quantityOf } from './quantities.ts';
import { predictedQuantity, simulatedQuantity } from './results-of.ts';
import type { PaperTable } from './tables.ts';
import { type Target, targetOf } from './targets.ts';

/** A cell under a policy: what the paper prints, what the closed forms and the simulation say. */
export interface Comparison {
  readonly table: PaperTable;
  readonly cell: PublishedCell;
  /** undefined: the workbench doesn't model the system. */
  readonly policy: SystemPolicy | undefined;
  readonly execution: Execution | undefined;
  readonly published: Quantity;
  readonly predicted: Quantity | undefined;
  readonly simulated: Quantity | undefined;
  /** See errorOf. */
  readonly predictedError: number | undefined;
  readonly simulatedError: number | undefined;
  /** What is aimed at here; undefined where nothing is claimed. */
  readonly target: Target | undefined;
  /** Other numbers of the paper exclude the cell under this policy: its figures are shown, and aren't counted. */
  readonly contradiction: Contradiction | undefined;
}

export interface ComparisonParts {
  readonly table: PaperTable;
  readonly cells: readonly PublishedCell[];
  readonly cluster: Cluster;
  /** By name, in the catalogue's format unless another is asked for. */
  readonly modelOf: (name: string, mix?: Mix) => Model;
  readonly options: PrimaOptions;
  readonly contradictions: readonly Contradiction[];
  readonly solver: IntegerSolver;
  readonly step: (label: string) => void;
}

/** The cells of a table that are results of systems, in its order. */
export function cellsOf(cells: readonly PublishedCell[], paper: string, { number }: PaperTable): PublishedCell[] {
  return cells.filter(
    (cell) => cell.paper === paper && cell.table === `Table ${number}` && metricOf(cell) !== undefined,
  );
}

/** Every cell of a table under every policy of its system; cells that print `-` were not run, and aren't here. */
export function compareTable(parts: ComparisonParts): Comparison[] {
  const { table, cluster, options, solver } = parts;
  const executions = new Map<string, Execution>();
  const devices = cluster.devices.map(({ name }) => name);
  const run = (policy: SystemPolicy, model: Model, truth: Cluster): Execution => {
    const key = [policy.name, policy.prefetches, policy.scheduler, model.name, model.mix].join('\n');
    const known = executions.get(key);
    if (known !== undefined) return known;
    const workload = workloadOf(policy.program, options);
    const runtime = runtimeOf(policy.program, table.released, model, workload);
    const found = execute({ policy, belief: cluster, truth, model, workload, runtime }, solver);
    executions.set(key, found);
    return found;
  };
  return parts.cells.flatMap((cell): Comparison[] => {
    parts.step(`Table ${table.number}, ${cell.row}, ${cell.column}`);
    if (cell.value === 'unsupported') return [];
    const published = quantityOf(cell);
    // Alternatives differ in what is reloaded: a matter of tokens.
    const all = policiesOf(cell.system, table.number, devices);
    const policies = metricOf(cell) === 'tpot' ? all : all.slice(0, 1);
    if (policies.length === 0) return [notModelled(table, cell, published)];
    return policies.map((policy) => {
      const model = parts.modelOf(cell.model, policy.mix);
      const truth = trueCluster(cluster, policy.truth);
      const execution = run(policy, model, truth);
      const predicted = predictedQuantity(cell, execution, truth);
      const simulated = simulatedQuantity(cell, execution);
      const isClaimed = metricOf(cell) === 'tpot' && policy.claimed;
      const contradiction = isClaimed ? contradictionOf(parts, cell, policy) : undefined;
      const target =
        isClaimed && contradiction === undefined ? targetOf(table.number, cell.system, cell.model) : undefined;
      return {
        table,
        cell,
        policy,
        execution,
        published,
        predicted,
        simulated,
        predictedError: errorOf(predicted, cell),
        simulatedError: errorOf(simulated, cell),
        target,
        contradiction,
      };
    });
  });
}

/** They concern memory as it is stated, so other memory resolves them. */
function contradictionOf({ table, contradictions }: ComparisonParts, cell: PublishedCell, { truth }: SystemPolicy) {
  if (truth !== 'stated') return undefined;
  return contradictions.find(
    (one) => one.table === table.number && one.system === cell.system && one.model === cell.model,
  );
}

function notModelled(table: PaperTable, cell: PublishedCell, published: Quantity): Comparison {
  return {
    table,
    cell,
    policy: undefined,
    execution: undefined,
    published,
    predicted: undefined,
    simulated: undefined,
    predictedError: undefined,
    simulatedError: undefined,
    target: undefined,
    contradiction: undefined,
  };
}
