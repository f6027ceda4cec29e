import {
  gpuPart,
  type OperatorCost,
  type OperatorParts,
  operatorCost,
  operatorParts,
} from '../../cost/chip/operator.ts';
import type { PartTimes } from '../../cost/chip/part-times.ts';
import { handOverSeconds } from '../../cost/chip/synchronisation.ts';
import { type ChipDevice, graphLengths } from '../../hardware/chip.ts';
import type { Operator } from '../../model/operators.ts';
import {
  type CutKind,
  cutKind,
  GPU_ONLY,
  type OperatorCut,
  type Synchronisation,
} from '../../plan/tensor-partition.ts';
import { graphLists } from './graph-lists.ts';

/** Row partitions are multiples of it, which prunes the search (HeteroLLM 4.3). */
export const ROW_ALIGNMENT = 256;

/** An operator to be cut. */
export interface CuttingProblem {
  readonly device: ChipDevice;
  readonly operator: Operator;
  readonly tokens: number;
  readonly synchronisation: Synchronisation;
  /** Kinds of cuts that are allowed; all unless given. */
  readonly kinds?: readonly CutKind[];
  /** Lists of graphs that the NPU may run; unless given, graphLists, or the graph of one token for one token. */
  readonly lists?: readonly (readonly number[])[];
  /** ROW_ALIGNMENT unless given. */
  readonly rowAlignment?: number;
  /** The profile that the solver uses; the chip's closed forms unless given. */
  readonly times?: PartTimes;
}

/** A cut with what it costs. */
export interface CutCandidate {
  readonly kind: CutKind;
  readonly cut: OperatorCut;
  readonly cost: OperatorCost;
}

/** The best cut of all, and the best of each kind, in ascending order of seconds. */
export interface CutSearch {
  readonly best: CutCandidate;
  readonly byKind: readonly CutCandidate[];
}

/**
 * The least T_total (HeteroLLM 4.3) over every list of graphs and every aligned number of rows: exact over that space.
 * With more rows the NPU's part alone takes longer and the GPU's shorter, so the search starts where the two meet and
 * goes on, both ways, until one part alone takes longer than the best cut of its kind. The longest lists of graphs come
 * first: they leave the GPU the least.
 * @throws RangeError if the operator has no cut of the allowed kinds
 */
export function bestCut(problem: CuttingProblem): CutSearch {
  const { device, operator, tokens, synchronisation, kinds, rowAlignment = ROW_ALIGNMENT, times } = problem;
  const lists = problem.lists ?? (tokens === 1 ? [[1]] : graphLists(tokens, graphLengths(device.soc.npu)));
  const best = new Map<CutKind, CutCandidate>();
  const partsOf = (cut: OperatorCut): OperatorParts => operatorParts({ operator, cut, tokens }, device, times);
  const leastOf = (kind: CutKind): number => best.get(kind)?.cost.seconds ?? Number.POSITIVE_INFINITY;
  /** Least seconds of handing over, by how many processors have parts. */
  const leastHandOver = [0, 1, 2].map((parts) => {
    if (parts === 0) return 0;
    const { sync, copy } = handOverSeconds(synchronisation, { soc: device.soc, parts, npuEndsLast: false });
    return sync + copy;
  });
  /** @returns the part that alone takes longer than the best cut so far, so that enlarging it gains nothing */
  const consider = (cut: OperatorCut): 'npu' | 'gpu' | undefined => {
    const kind = cutKind(cut, operator.rows, tokens);
    if (kinds?.includes(kind) === false) return undefined;
    const least = leastOf(kind);
    const parts = partsOf(cut);
    const { gpu, npu } = parts;
    const handOver = leastHandOver[npu.seconds === 0 ? 0 : gpu.seconds === 0 ? 1 : 2] as number;
    if (npu.seconds + handOver >= least) return 'npu';
    if (gpu.seconds + handOver >= least) return 'gpu';
    // Both parts' bytes come from one memory.
    if (npu.seconds > 0 && (gpu.bytes + npu.bytes) / device.soc.bandwidth + handOver >= least) return undefined;
    const cost = operatorCost(parts, device, synchronisation);
    if (cost.seconds < least) best.set(kind, { kind, cut, cost });
    return undefined;
  };
  consider(GPU_ONLY);
  const steps = Math.ceil(operator.rows / rowAlignment) - 1;
  for (const npuLengths of lists.toReversed()) {
    const allRows = { npuRows: operator.rows, npuLengths };
    consider(allRows);
    const cutAt = (step: number): OperatorCut => ({ npuRows: step * rowAlignment, npuLengths });
    if (steps < 1) continue;
    const kind = cutKind(cutAt(1), operator.rows, tokens);
    if (kinds?.includes(kind) === false) continue;
    // The GPU has at least the tokens that no graph covers.
    if (gpuPart({ operator, cut: allRows, tokens }, device, times).seconds >= leastOf(kind)) continue;
    const meeting = firstStep(steps, (step) => {
      const { npu, gpu } = partsOf(cutAt(step));
      return npu.seconds >= gpu.seconds;
    });
    for (let step = meeting; step <= steps && consider(cutAt(step)) !== 'npu'; step++);
    for (let step = meeting - 1; step >= 1 && consider(cutAt(step)) !== 'gpu'; step--);
  }
  const byKind = [...best.values()].sort((one, other) => one.cost.seconds - other.cost.seconds);
  const [first] = byKind;
  if (first === undefined) throw new RangeError(`${operator.name} has no cut of the kinds ${kinds?.join(', ')}`);
  return { best: first, byKind };
}

/** The first step from 1 to `steps` from which `holds` is true; `steps` if there is none. */
function firstStep(steps: number, holds: (step: number) => boolean): number {
  let [low, high] = [1, steps];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
