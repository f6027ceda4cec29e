import type { ChipDevice } from '../../hardware/chip.ts';
import { formatBytes } from '../../input/format.ts';
import { modelOperators, OPERATORS } from '../../model/operators.ts';
import type { TensorPartition } from '../../plan/tensor-partition.ts';
import { createCutOperations } from '../../runtime/cut/cut-operations.ts';
import type { ModelPart } from '../../runtime/split/model-part.ts';
import type { LoadedPart } from './loaded-part.ts';
import { MOST_GRAPHS } from './npu/channel.ts';
import { graphsBytes, openStandIn } from './npu/stand-in.ts';

export interface NpuPartOptions {
  readonly loaded: LoadedPart;
  readonly partition: TensorPartition;
  /** Layers whose operators are cut. */
  readonly cut: readonly number[];
  /** Whether the output layer is cut too. */
  readonly output: boolean;
  /** Bytes of memory for weights, and for the values of graphs. */
  readonly room: number;
  /** The chip whose NPU's times are taken; `undefined`: the thread is as fast as it computes. */
  readonly chip: ChipDevice | undefined;
}

/**
 * A part, of which nothing is loaded yet, with layers whose operators are cut between a chip's GPU and NPU (HeteroLLM 4.1): the device's CPU has the GPU's part, and a
 * thread stands for the NPU. Frames of other lengths than the prompt that the plan is for are cut like it, as far as they go.
 * @throws InputError for a model whose operators are not cut, Error with a reason for a cut of more rows than there are
 */
export async function loadNpuPart({
  loaded,
  partition,
  cut,
  output,
  room,
  chip,
}: NpuPartOptions): Promise<{ readonly part: ModelPart; close(): void }> {
  const { part, path } = loaded;
  const operators = modelOperators(part.model);
  const { prefill, decode } = partition;
  for (const name of OPERATORS) {
    const own = name === 'output' ? [decode.output] : [prefill[name], decode[name]];
    const most = Math.max(...own.map(({ npuRows }) => npuRows));
    if (most > operators[name].rows)
      throw new Error(`the plan gives the NPU ${most} rows of "${name}", which has ${operators[name].rows}`);
  }
  const cuts = [...Object.values(prefill), ...Object.values(decode)];
  const graphs = Math.max(...cuts.map(({ npuLengths }) => npuLengths.length));
  if (graphs > MOST_GRAPHS)
    throw new Error(
      `the plan gives the NPU ${graphs} graphs of an operator at once; at most ${MOST_GRAPHS} are possible`,
    );
  const lengths = cuts.map(({ npuLengths }) => npuLengths.reduce((sum, length) => sum + length, 0));
  const graphTokens = Math.max(...lengths);
  const bytes = graphsBytes(part.model, graphTokens);
  if (bytes > room)
    throw new Error(
      `graphs of ${graphTokens} tokens take ${formatBytes(bytes)}; ${formatBytes(Math.max(0, room))} are available for them`,
    );
  const second = await openStandIn({
    ...{ file: path, model: part.model, device: chip, partition, graphTokens },
    // The fastest ones: an NPU multiplies faster than what else is on its chip.
    kernels: { implementation: loaded.kernels.name === 'reference' ? 'reference' : 'native', threads: 1 },
  });
  // The plan's own, so that their memory is freed when it ends.
  const again = loaded.kernels.again?.();
  const kernels = again ?? loaded.kernels;
  const close = (): void => {
    again?.close();
    void second.close();
  };
  try {
    const weights = loaded.weightsOn(kernels);
    const operations = createCutOperations({ main: { kernels, weights }, second }, partition);
    return { part: loaded.partOn(kernels, { cut: { layers: new Set(cut), output, operations } }), close };
  } catch (error) {
    close();
    throw error;
  }
}
