import type { PartTimes } from '../../engine/cost/chip/part-times.ts';
import type { Model } from '../../engine/model/model.ts';
import { LAYER_OPERATORS, OPERATORS, type Operator, type OperatorName } from '../../engine/model/operators.ts';
import {
  type CutKind,
  cutKind,
  GPU_ONLY,
  type OperatorCut,
  type TensorPartition,
} from '../../engine/plan/tensor-partition.ts';

/** Ways of sharing every operator; each takes the best cut of its kinds, operator by operator. */
export const STRATEGIES = {
  'CPU alone': ['gpu'],
  'GPU alone': ['npu'],
  'rows cut': ['row'],
  'prompt cut': ['sequence', 'multi-sequence'],
  'both cut': ['hybrid'],
  'chosen by the solver': ['gpu', 'npu', 'row', 'sequence', 'multi-sequence', 'hybrid'],
} as const satisfies Readonly<Record<string, readonly CutKind[]>>;
export type Strategy = keyof typeof STRATEGIES;

/** Whether a strategy has cuts for a single token, which can't be cut by tokens. */
export function cutsTokens(strategy: Strategy): boolean {
  const kinds: readonly CutKind[] = STRATEGIES[strategy];
  return (['gpu', 'npu', 'row'] as const).some((kind) => kinds.includes(kind));
}

/** Shares of an operator's rows that the GPU may have. */
const ROW_SHARES = [0.25, 0.5, 0.75, 1];
/** Tokens of the graphs that a prompt is cut into. */
const GRAPH_TOKENS = 32;

/** Every cut of an operator that is considered: shares of its rows, whole graphs of the prompt. */
export function candidateCuts({ rows }: Operator, tokens: number): OperatorCut[] {
  const graphs = tokens === 1 ? [[1]] : graphLists(tokens);
  const shares = ROW_SHARES.map((share) => Math.max(1, Math.round(share * rows)));
  return [GPU_ONLY, ...graphs.flatMap((npuLengths) => shares.map((npuRows) => ({ npuRows, npuLengths })))];
}

/** The whole prompt, and a half and the most of it in whole graphs. */
function graphLists(tokens: number): number[][] {
  const whole = Math.floor(tokens / GRAPH_TOKENS);
  const counts = [...new Set([Math.ceil(whole / 2), whole])].filter((count) => count >= 1);
  const lists = counts.map((count) => [count * GRAPH_TOKENS]);
  const split = whole >= 2 ? [Array.from({ length: whole }, () => GRAPH_TOKENS)] : [];
  return [[tokens], ...lists.filter(([first]) => first !== tokens), ...split];
}

/** Seconds of one operator under a cut: both parts at the same time. */
export function cutSeconds(operator: Operator, cut: OperatorCut, tokens: number, times: PartTimes): number {
  const covered =
    cut.npuRows === 0
      ? 0
      : Math.min(
          tokens,
          cut.npuLengths.reduce((sum, one) => sum + one, 0),
        );
  const second =
    covered === 0 ? 0 : cut.npuLengths.reduce((sum, one) => sum + times.npu(operator, cut.npuRows, one), 0);
  const rest = operator.rows - cut.npuRows;
  const main =
    (covered > 0 && rest > 0 ? times.gpu(operator, rest, covered) : 0) +
    (covered < tokens ? times.gpu(operator, operator.rows, tokens - covered) : 0);
  return Math.max(second, main);
}

export interface ChosenPartition {
  readonly partition: TensorPartition;
  /** Seconds of all products of a token, and of a prompt with its output layer. */
  readonly decode: number;
  readonly prefill: number;
}

/** The best cut of each operator among a strategy's kinds, by the times of parts; the CPU alone where there is none. */
export function partitionBy(
  strategy: Strategy,
  model: Model,
  operators: Readonly<Record<OperatorName, Operator>>,
  promptTokens: number,
  times: PartTimes,
): ChosenPartition {
  const kinds: readonly CutKind[] = STRATEGIES[strategy];
  const best = (name: OperatorName, tokens: number): OperatorCut => {
    const operator = operators[name];
    const all = candidateCuts(operator, tokens);
    const allowed = all.filter((cut) => kinds.includes(cutKind(cut, operator.rows, tokens)));
    const seconds = (cut: OperatorCut): number => cutSeconds(operator, cut, tokens, times);
    return (allowed.length > 0 ? allowed : [GPU_ONLY]).reduce((least, one) =>
      seconds(one) < seconds(least) ? one : least,
    );
  };
  const of = <Name extends OperatorName>(names: readonly Name[], tokens: number) =>
    Object.fromEntries(names.map((name) => [name, best(name, tokens)])) as Record<Name, OperatorCut>;
  const [prefill, decode] = [of(LAYER_OPERATORS, promptTokens), of(OPERATORS, 1)];
  const total = (cuts: Readonly<Partial<Record<OperatorName, OperatorCut>>>, tokens: number): number =>
    LAYER_OPERATORS.reduce(
      (sum, name) => sum + model.layers * cutSeconds(operators[name], cuts[name] ?? GPU_ONLY, tokens, times),
      cutSeconds(operators.output, decode.output, 1, times),
    );
  return {
    partition: { ...{ synchronisation: 'naive', graphs: 'prepared', promptTokens }, prefill, decode },
    decode: total(decode, 1),
    prefill: total(prefill, promptTokens),
  };
}
