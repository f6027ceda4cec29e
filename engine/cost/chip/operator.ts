import type { ChipDevice } from '../../hardware/chip.ts';
import type { Operator } from '../../model/operators.ts';
import type { OperatorCut, Synchronisation } from '../../plan/tensor-partition.ts';
import { gpuTask, type Worked } from './gpu.ts';
import { npuProduct } from './npu.ts';
import type { PartTimes } from './part-times.ts';
import { concurrently, demandAtPace, type Ends, NO_TASK, ROUNDING, type Task } from './shared-memory.ts';
import { partBytes } from './steps.ts';
import { handOverSeconds } from './synchronisation.ts';

/** Bytes of a value in FP16. */
const FP16 = 2;

/** The two parts of a cut operator, each as if it ran alone. */
export interface OperatorParts {
  readonly gpu: Task;
  readonly npu: Task;
}

/** An operator, its cut, and the tokens that it multiplies. */
export interface CutOperator {
  readonly operator: Operator;
  readonly cut: OperatorCut;
  readonly tokens: number;
  /** Whether they are decoded; a single token is unless given. */
  readonly phase?: 'prefill' | 'decode';
}

/**
 * The NPU's part of an operator, which runs one graph after another. Activations are stationary in the array and rows
 * of the weights pass through it: [rows, columns] × [columns, tokens], the order that suits the NPU (HeteroLLM 3.2,
 * Fig. 5).
 */
export function npuPart(
  { operator, cut, phase }: Omit<CutOperator, 'tokens'>,
  device: ChipDevice,
  times?: PartTimes,
): Task {
  const { npuRows, npuLengths } = cut;
  if (npuRows === 0) return NO_TASK;
  let [seconds, bytes, calculating] = [0, 0, 0];
  for (const [nth, length] of npuLengths.entries()) {
    const isDecoded = phase === undefined ? length === 1 : phase === 'decode';
    const graph = graphTask({ operator, rows: npuRows, length, isDecoded, isExpanded: nth > 0 }, device);
    const profiled = times?.npu(operator, npuRows, length);
    seconds += profiled ?? graph.seconds;
    bytes += graph.bytes;
    calculating += Math.min(graph.calculating, profiled ?? graph.seconds);
  }
  return { seconds, bytes, calculating };
}

/** A graph of an operator's part: this many rows, for this many tokens. */
interface GraphWork {
  readonly operator: Operator;
  readonly rows: number;
  readonly length: number;
  readonly isDecoded: boolean;
  /** Whether an earlier graph of the operator left its weights expanded. */
  readonly isExpanded: boolean;
}

/**
 * One graph of a prompt, in FP16: the CPU expands the 4-bit weights (HeteroLLM 4), then the product runs, or both wait
 * for the memory. Graphs of one operator follow each other on the NPU (4.1.1), so that the weights are expanded for the
 * first, and the others read what it left. Decoded tokens are multiplied in INT8, since the NPU has no 4-bit arithmetic
 * for decoding (HeteroLLM 5.1, note 2).
 */
function graphTask({ operator, rows, length, isDecoded, isExpanded }: GraphWork, { npu, soc }: ChipDevice): Worked {
  const { seconds, calculating, refetched } = npuProduct(
    { rows, inner: operator.columns, columns: length },
    {
      flops: isDecoded ? npu.flops.Q8_0 : npu.flops.F16,
      bandwidth: npu.bandwidth,
      array: soc.npu,
      valueBytes: isDecoded ? 1 : FP16,
      layoutColumns: isDecoded ? 1 : soc.npu.longestGraph,
    },
  );
  const inFp16 = isDecoded ? 0 : FP16 * rows * operator.columns;
  const expanded = isExpanded ? 0 : inFp16;
  const weights = isExpanded ? inFp16 - (operator.bytes * rows) / operator.rows : expanded;
  const bytes = partBytes(operator, rows, length) + weights + refetched;
  return { seconds: Math.max(expanded / soc.npu.dequantise + seconds, bytes / npu.bandwidth), bytes, calculating };
}

/** The GPU's part: the remaining rows for the NPU's tokens, then all rows for the remaining tokens. */
export function gpuPart({ operator, cut, tokens, phase }: CutOperator, device: ChipDevice, times?: PartTimes): Worked {
  const isDecoded = phase === undefined ? tokens === 1 : phase === 'decode';
  const product = (rows: number, of: number): Worked =>
    gpuProduct({ operator, rows, tokens: of, isDecoded }, device, times);
  const covered = cut.npuRows === 0 ? 0 : Math.min(tokens, totalLength(cut));
  const rest = product(operator.rows - cut.npuRows, covered);
  if (covered === tokens) return rest;
  const margin = product(operator.rows, tokens - covered);
  return {
    seconds: rest.seconds + margin.seconds,
    bytes: rest.bytes + margin.bytes,
    calculating: rest.calculating + margin.calculating,
  };
}

/** A kernel of an operator: this many rows, for this many tokens. */
interface GpuWork {
  readonly operator: Operator;
  readonly rows: number;
  readonly tokens: number;
  readonly isDecoded: boolean;
}

/**
 * A kernel with `rows` rows of an operator. For a prompt it expands its 4-bit weights in parallel with the arithmetic, so that few
 * tokens don't use the GPU fully: its rate is proportional to them up to a threshold (HeteroLLM 3.1, 5.2.2). Decoded
 * tokens share one reading of the stored weights.
 */
function gpuProduct(
  { operator, rows, tokens, isDecoded }: GpuWork,
  { gpu, soc }: ChipDevice,
  times: PartTimes | undefined,
): Worked {
  if (rows * tokens === 0) return NO_TASK;
  const bytes = partBytes(operator, rows, tokens);
  const work = { flops: 2 * rows * operator.columns * tokens, bytes };
  const { seconds, calculating } = gpuTask(work, { flops: gpu.flops.F16, bandwidth: gpu.bandwidth });
  const profiled = times?.gpu(operator, rows, tokens);
  if (profiled !== undefined) return { seconds: profiled, bytes, calculating: Math.min(calculating, profiled) };
  const expanding = isDecoded ? 0 : (FP16 * rows * operator.columns) / soc.gpu.dequantise;
  return { seconds: Math.max(seconds, expanding), bytes, calculating };
}

/**
 * Both parts of an operator.
 * @param times seconds of products from a profile; closed forms by default
 */
export function operatorParts(operator: CutOperator, device: ChipDevice, times?: PartTimes): OperatorParts {
  const [gpu, npu] = [gpuPart(operator, device, times), npuPart(operator, device, times)];
  if (times?.paces === undefined) return { gpu, npu };
  const { bandwidth } = device.soc;
  const { paces } = times;
  return {
    gpu: { ...gpu, demand: demandAtPace(paces.gpu, bandwidth) },
    npu: { ...npu, demand: demandAtPace(paces.npu, bandwidth) },
  };
}

/** Seconds of a cut operator, by cause. */
export interface OperatorCost extends OperatorParts {
  /** Seconds from the common start until GPU (first) and NPU (second) end, sharing one memory. */
  readonly ends: Ends;
  /** T_sync, T_copy. */
  readonly sync: number;
  readonly copy: number;
  /** max(T_GPU, T_NPU) + T_sync + T_copy (HeteroLLM 4.3). */
  readonly seconds: number;
}

/**
 * T_total of an operator under one cut (HeteroLLM 4.3, the objective): max(T_GPU, T_NPU) + T_sync + T_copy if both have
 * parts, T_GPU if the GPU has the whole operator, T_NPU + T_sync + T_copy if the NPU has it.
 */
export function operatorCost(
  parts: OperatorParts,
  { soc }: Pick<ChipDevice, 'soc'>,
  synchronisation: Synchronisation,
): OperatorCost {
  const { gpu, npu } = parts;
  if (npu.seconds === 0) {
    return { gpu, npu, ends: { first: gpu.seconds, second: 0 }, sync: 0, copy: 0, seconds: gpu.seconds };
  }
  const ends = concurrently(gpu, npu, soc.bandwidth);
  const shared = gpu.seconds > 0;
  const npuEndsLast = ends.second >= ends.first * (1 - ROUNDING);
  const { sync, copy } = handOverSeconds(synchronisation, { soc, parts: shared ? 2 : 1, npuEndsLast });
  return { gpu, npu, ends, sync, copy, seconds: Math.max(ends.first, ends.second) + sync + copy };
}

function totalLength({ npuLengths }: OperatorCut): number {
  let total = 0;
  for (const length of npuLengths) total += length;
  return total;
}
