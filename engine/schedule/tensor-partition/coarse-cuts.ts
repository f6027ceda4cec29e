import type { PartShape } from '../../cost/chip/part-times.ts';
import { OPERATORS, type Operator, type OperatorName } from '../../model/operators.ts';
import type { OperatorCut } from '../../plan/tensor-partition.ts';

/** Shares of an operator's rows that are tried: quarters. */
const ROW_SHARES = 4;
/** Tokens of the shortest graph. */
const GRAPH_TOKENS = 32;

/** Rows by which an operator is cut. */
export function coarseRows({ rows }: Pick<Operator, 'rows'>): number {
  return Math.ceil(rows / ROW_SHARES);
}

/**
 * Lists of graphs for a processor that takes graphs of any length, few enough that every part can be run: the whole
 * prompt; a half and the most of it in whole graphs; and the most of it in graphs of 32 tokens.
 */
export function coarseLists(tokens: number): number[][] {
  if (tokens === 1) return [[1]];
  const whole = Math.floor(tokens / GRAPH_TOKENS);
  const counts = [...new Set([Math.ceil(whole / 2), whole])].filter((count) => count >= 1);
  const lists = counts.map((count) => [count * GRAPH_TOKENS]);
  const split = whole >= 2 ? [Array.from({ length: whole }, () => GRAPH_TOKENS)] : [];
  return [[tokens], ...lists.filter(([first]) => first !== tokens), ...split];
}

/** A part of a product, on the processor that has it. */
export interface CoarsePart extends PartShape {
  readonly processor: 'gpu' | 'npu';
}

/** The parts of all coarse cuts, each once: what a solver that searches these cuts asks a profile for. */
export function coarseParts(
  operators: Readonly<Record<OperatorName, Operator>>,
  lengths: readonly number[],
): CoarsePart[] {
  const parts = new Map<string, CoarsePart>();
  const add = (part: CoarsePart): void => {
    const { processor, rows, columns, tokens } = part;
    if (rows > 0 && tokens > 0) parts.set(`${processor} ${rows} ${columns} ${tokens}`, part);
  };
  for (const name of OPERATORS) {
    const { rows, columns } = operators[name];
    for (const tokens of name === 'output' ? [1] : [1, ...lengths]) {
      add({ processor: 'gpu', rows, columns, tokens });
      for (const { npuRows, npuLengths } of coarseCuts(operators[name], tokens)) {
        const covered = npuLengths.reduce((sum, one) => sum + one, 0);
        for (const length of npuLengths) add({ processor: 'npu', rows: npuRows, columns, tokens: length });
        add({ processor: 'gpu', rows: rows - npuRows, columns, tokens: covered });
        add({ processor: 'gpu', rows, columns, tokens: tokens - covered });
      }
    }
  }
  return [...parts.values()];
}

/** The coarse cuts of an operator in which the second processor has a part. */
export function coarseCuts(operator: Pick<Operator, 'rows'>, tokens: number): OperatorCut[] {
  const step = coarseRows(operator);
  const shares = Array.from({ length: ROW_SHARES }, (_, index) => Math.min(operator.rows, (index + 1) * step));
  return coarseLists(tokens).flatMap((npuLengths) => [...new Set(shares)].map((npuRows) => ({ npuRows, npuLengths })));
}
