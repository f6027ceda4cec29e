import { gpuPart, npuPart } from '../../engine/cost/chip/operator.ts';
import type { PartShape, PartTimes } from '../../engine/cost/chip/part-times.ts';
import type { ChipDevice } from '../../engine/hardware/chip.ts';
import { type KernelOptions, openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Model } from '../../engine/model/model.ts';
import { modelOperators, OPERATORS, type Operator, type OperatorName } from '../../engine/model/operators.ts';
import type { Quantization } from '../../engine/model/quantization.ts';
import { createMeasuredTimes, type MeasuredPart, type MeasuredTimes } from '../../engine/profile/measured-times.ts';
import { createPartProducts, measureParts } from '../../engine/profile/part-probes.ts';
import { quietSample, type TimedRun, timedRun } from '../../engine/profile/quiet-runs.ts';
import { openStandIn, type StandIn } from '../../engine/ring/device/npu/stand-in.ts';

/** A part that a solver asks for. */
interface AskedPart extends PartShape {
  readonly processor: 'gpu' | 'npu';
  readonly name: OperatorName;
}

/** The parts that `ask` asks for beyond the known ones, each once; closed forms answer meanwhile. */
function askedParts(
  { model, device, ask }: Pick<RealExecution, 'model' | 'device' | 'ask'>,
  known: readonly MeasuredPart[],
): AskedPart[] {
  const names = new Map(OPERATORS.map((name) => [sizes(modelOperators(model)[name]), name]));
  const parts: AskedPart[] = [];
  const measure = (processor: AskedPart['processor'], operator: Operator, rows: number, tokens: number): number => {
    const { columns } = operator;
    parts.push({ processor, name: names.get(sizes(operator)) as OperatorName, rows, columns, tokens });
    const npuRows = processor === 'npu' ? rows : operator.rows - rows;
    const cut = { operator, cut: { npuRows, npuLengths: [tokens] }, tokens };
    return processor === 'npu' ? npuPart(cut, device).seconds : gpuPart(cut, device).seconds;
  };
  ask(createMeasuredTimes(known, { measure }));
  return parts;
}

const sizes = ({ rows, columns }: Operator): string => `${rows} ${columns}`;

export interface RealExecution {
  readonly file: string;
  readonly model: Model;
  readonly device: ChipDevice;
  /** Kernels of the control thread, and of the NPU's. */
  readonly kernels: KernelOptions;
  readonly npuKernels: KernelOptions;
  readonly promptTokens: number;
  /** Seconds of handing a graph over and back, which the solver adds by itself. */
  readonly handOver: number;
  /** Asks for the times of all parts that are of interest: which these are may depend on the times. */
  readonly ask: (times: PartTimes) => void;
}

/** Runs of a part that is executed by the NPU's thread; the later half counts. */
const REPEATS = 6;

/**
 * Times of parts by the real-execution mode of HeteroLLM's profiler (4.3): each is run by itself, on its thread, when it
 * was asked for, until no further ones are.
 */
export async function realTimes(execution: RealExecution): Promise<MeasuredTimes> {
  const { model, kernels, npuKernels, promptTokens, handOver } = execution;
  const format = model.tensors.find(({ role }) => role === 'ffn_down')?.quantization as Quantization;
  const main = openKernels(kernels);
  const partition = { synchronisation: 'fast', graphs: 'prepared', promptTokens } as const;
  const standIn = await openStandIn({
    ...{ ...execution, kernels: npuKernels, partition, ownTokens: promptTokens },
    graphTokens: promptTokens + execution.device.soc.npu.longestGraph,
  });
  const x = standIn.reserve?.(promptTokens * mostColumns(model)) ?? new Float32Array();
  const known: MeasuredPart[] = [];
  try {
    for (;;) {
      const asked = askedParts(execution, known);
      if (asked.length === 0) return createMeasuredTimes(known);
      const parts = asked.filter(({ processor }) => processor === 'gpu').map(({ name, ...part }) => part);
      const products = createPartProducts({ main, second: main, format }, parts);
      known.push(...(await measureParts({ products, parts, onPart: () => {} })));
      for (const part of asked.filter(({ processor }) => processor === 'npu'))
        known.push(await npuPartOf(standIn, part, { x, handOver }));
    }
  } finally {
    main.close();
    await standIn.close();
  }
}

function mostColumns(model: Model): number {
  return Math.max(...Object.values(modelOperators(model)).map(({ columns }) => columns));
}

/** Least seconds of a part: less is the spread of handing over. */
const LEAST_SECONDS = 1e-6;

/** @param x activations; graphs longer than the prompt have padding */
async function npuPartOf(
  standIn: StandIn,
  { name, rows, columns, tokens }: AskedPart,
  { x, handOver }: { readonly x: Float32Array; readonly handOver: number },
): Promise<MeasuredPart> {
  const graph = { name, layer: 0, rows, columns, length: tokens, x: x.subarray(0, columns * tokens) };
  const runs: TimedRun[] = [];
  while (runs.length < REPEATS) runs.push(await timedRun(() => standIn.begin(graph)()));
  const { median } = quietSample(runs.slice(REPEATS / 2));
  return { processor: 'npu', rows, columns, tokens, seconds: Math.max(LEAST_SECONDS, median - handOver) };
}
