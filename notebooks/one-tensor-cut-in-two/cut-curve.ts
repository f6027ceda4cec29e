import { type OperatorCost, operatorCost, operatorParts } from '../../engine/cost/chip/operator.ts';
import { type ChipDevice, graphLengths } from '../../engine/hardware/chip.ts';
import type { Operator } from '../../engine/model/operators.ts';
import { GPU_ONLY, type OperatorCut } from '../../engine/plan/tensor-partition.ts';
import { ROW_ALIGNMENT } from '../../engine/schedule/tensor-partition/best-cut.ts';
import { graphLists } from '../../engine/schedule/tensor-partition/graph-lists.ts';

/** A cut of an operator, and what it costs. */
export interface CostedCut {
  readonly cut: OperatorCut;
  readonly cost: OperatorCost;
}

/**
 * T_total of an operator for every number of rows on the NPU, each with its best list of graphs (HeteroLLM 4.3): the
 * landscape that the solver searches.
 */
export function cutCurve(device: ChipDevice, operator: Operator, tokens: number): CostedCut[] {
  const lists = graphLists(tokens, graphLengths(device.soc.npu));
  const steps = Math.ceil(operator.rows / ROW_ALIGNMENT);
  const costed = (cut: OperatorCut): CostedCut => ({
    cut,
    cost: operatorCost(operatorParts({ operator, cut, tokens }, device), device, 'fast'),
  });
  const ofRows = (npuRows: number): CostedCut =>
    lists
      .map((npuLengths) => costed({ npuRows, npuLengths }))
      .reduce((least, one) => (one.cost.seconds < least.cost.seconds ? one : least));
  return [
    costed(GPU_ONLY),
    ...Array.from({ length: steps }, (_, step) => ofRows(Math.min(operator.rows, (step + 1) * ROW_ALIGNMENT))),
  ];
}

/** The cut that takes the least time. */
export function bestOf(curve: readonly CostedCut[]): CostedCut {
  return curve.reduce((least, one) => (one.cost.seconds < least.cost.seconds ? one : least));
}
