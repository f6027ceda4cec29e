import type { PublishedCell } from '../../../datasets/published.ts';
import { type Answer, type Comparison, compare, OCTAVES, type Quantity, type Rule } from '../comparison.ts';
import type { ContextComparison } from './contexts.ts';
import { secondsOf } from './quantities.ts';
import type { HelmComparison } from './rules.ts';

/** Data from which derived figures follow. */
export interface DerivedInputs {
  readonly cells: readonly PublishedCell[];
  readonly comparisons: readonly HelmComparison[];
  readonly contexts: readonly ContextComparison[];
}

/** A figure that follows from compared ones. */
interface Derivation {
  readonly unit: 'x' | 'share' | typeof OCTAVES;
  /** The quantities behind it; it tests nothing where all of them were fitted to. */
  readonly from: readonly Comparison[];
  readonly value: (answer: Answer) => number | undefined;
  /** Prints of the same figure have the same. */
  readonly configuration: string;
}

/**
 * Ratios, changes and means that the thesis prints next to its measurements (§6.3, Figs. 6.1 and 6.2, Tables 6.3 and 6.4,
 * §§6.4.1–6.4.3), from the same quantities here. Changes are differences in percentage points.
 */
export function derivedComparisons(inputs: DerivedInputs): Comparison[] {
  const rules = inputs.cells.flatMap((cell): Rule<undefined>[] => {
    const derivation = typeof cell.value === 'number' ? derivationOf(cell, inputs) : undefined;
    if (derivation === undefined || typeof cell.value !== 'number') return [];
    const { unit, from, value, configuration } = derivation;
    const scale = unit === 'share' ? 100 : 1;
    const published = cell.value / scale;
    return [
      {
        paper: 'helm',
        cell,
        policy: '',
        unit,
        published,
        noise: cell.noise === undefined ? undefined : unit === 'share' ? cell.noise / scale : cell.noise / published,
        use: from.every(({ use }) => use === 'fit') ? 'fit' : 'held-out',
        configuration,
        answer: () => ({
          predicted: value('predicted'),
          simulated: value('simulated'),
          target: undefined,
          detail: undefined,
        }),
      },
    ];
  });
  return compare(rules, () => {});
}

function derivationOf(cell: PublishedCell, inputs: DerivedInputs): Derivation | undefined {
  const { table, column, system, metric } = cell;
  if (/^HELM (\/ Accelerate throughput|faster than Accelerate)$/.test(column) || table === 'Abstract') {
    return metric === 'speedup' ? speedup(cell, inputs) : undefined;
  }
  if (table === 'Fig. 6.1' && column === 'HELM / Accelerate') return contextRatio(cell, inputs);
  if (column === 'HELM / strongest feasible baseline throughput') return meanSpeedup(inputs);
  if (table === '§6.4.1' && metric === 'speedup') return scaling(cell, inputs);
  if (metric !== 'throughput-change') return undefined;
  if (cell.model === '') return meanDrop(cell, inputs);
  return change(cell.cluster, cell.model, system, inputs);
}

interface Place {
  readonly machine: string;
  readonly model: string;
  readonly system: string;
  readonly batch: number;
}

/** The first print of a token's time. */
function tokenOf({ comparisons }: DerivedInputs, wanted: Place): HelmComparison | undefined {
  return comparisons.find(({ detail: { quantity } }) => {
    const { machine, model, system, batch, kind } = quantity;
    return (
      kind === 'token' &&
      machine === wanted.machine &&
      model === wanted.model &&
      system === wanted.system &&
      batch === wanted.batch
    );
  });
}

/** Tokens per second over those of another quantity; undefined where one of them doesn't run. */
function rateRatio(one: HelmComparison | undefined, other: HelmComparison | undefined, answer: Answer) {
  const [top, bottom] = [rateOf(one, answer), rateOf(other, answer)];
  return top === undefined || bottom === undefined ? undefined : top / bottom;
}

function rateOf(one: HelmComparison | undefined, answer: Answer): number | undefined {
  const value: Quantity | undefined = one?.[answer];
  if (one === undefined || typeof value !== 'number') return undefined;
  const { batch } = one.detail.quantity;
  return batch / secondsOf(value, one.cell.unit, batch);
}

const known = (all: readonly (HelmComparison | undefined)[]): HelmComparison[] =>
  all.filter((one): one is HelmComparison => one !== undefined);

function speedup({ cluster, model }: PublishedCell, inputs: DerivedInputs): Derivation {
  const [helm, other] = pairOf(inputs, cluster, model, 'accelerate');
  return {
    unit: 'x',
    from: known([helm, other]),
    value: (answer) => rateRatio(helm, other, answer),
    configuration: ['speedup', cluster, model].join('\n'),
  };
}

function pairOf(inputs: DerivedInputs, machine: string, model: string, system: string) {
  const at = { machine, model, batch: 1 };
  return [tokenOf(inputs, { ...at, system: 'helm' }), tokenOf(inputs, { ...at, system })] as const;
}

/** The configurations whose model doesn't fit the VRAM (6.3). */
const CONSTRAINED = [
  ['helm-4060', 'Qwen3-4B'],
  ['helm-4060', 'Qwen3-8B'],
  ['helm-3090', 'Qwen3-14B'],
  ['helm-l40s', 'Qwen3-32B'],
] as const;

function meanSpeedup(inputs: DerivedInputs): Derivation {
  const pairs = CONSTRAINED.map(([machine, model]) => pairOf(inputs, machine, model, 'accelerate'));
  return {
    unit: 'x',
    from: known(pairs.flat()),
    value: (answer) => mean(pairs.map(([one, other]) => rateRatio(one, other, answer))),
    configuration: 'mean speedup',
  };
}

function scaling({ cluster }: PublishedCell, inputs: DerivedInputs): Derivation {
  const pairs = ['Qwen3-4B', 'Qwen3-8B'].map((model) => {
    const at = { machine: cluster, model, system: 'helm' };
    return [tokenOf(inputs, { ...at, batch: 8 }), tokenOf(inputs, { ...at, batch: 1 })] as const;
  });
  return {
    unit: 'x',
    from: known(pairs.flat()),
    value: (answer) => mean(pairs.map(([many, one]) => rateRatio(many, one, answer))),
    configuration: 'scaling at 8',
  };
}

function change(machine: string, model: string, system: string, inputs: DerivedInputs): Derivation {
  const [helm, variant] = pairOf(inputs, machine, model, system);
  return {
    unit: 'share',
    from: known([helm, variant]),
    value: (answer) => {
      const ratio = rateRatio(variant, helm, answer);
      return ratio === undefined ? undefined : ratio - 1;
    },
    configuration: ['change', machine, model, system].join('\n'),
  };
}

/** §6.4.3 prints the drop without its sign. */
function meanDrop({ cluster, system }: PublishedCell, inputs: DerivedInputs): Derivation {
  const changes = ['Qwen3-4B', 'Qwen3-8B', 'Qwen3-14B'].map((model) => change(cluster, model, system, inputs));
  return {
    unit: 'share',
    from: changes.flatMap(({ from }) => from),
    value: (answer) => {
      const found = mean(changes.map(({ value }) => value(answer)));
      return found === undefined ? undefined : -found;
    },
    configuration: 'mean drop',
  };
}

function contextRatio({ cluster, model }: PublishedCell, { contexts }: DerivedInputs): Derivation {
  const of = (system: string): ContextComparison | undefined =>
    contexts.find(({ cell }) => cell.cluster === cluster && cell.model === model && cell.system === system);
  const [helm, other] = [of('helm'), of('accelerate')];
  return {
    // Lengths are powers of two.
    unit: OCTAVES,
    from: [helm, other].filter((one): one is ContextComparison => one !== undefined),
    value: (answer) => {
      const [top, bottom] = [helm?.[answer], other?.[answer]];
      return typeof top === 'number' && typeof bottom === 'number' ? top / bottom : undefined;
    },
    configuration: ['context ratio', cluster, model].join('\n'),
  };
}

function mean(values: readonly (number | undefined)[]): number | undefined {
  const numbers = values.filter((value): value is number => value !== undefined);
  return numbers.length === 0 ? undefined : numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
}
