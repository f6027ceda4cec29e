import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { npuPart } from '../../engine/cost/chip/operator.ts';
import { waitForFlag } from '../../engine/cost/chip/synchronisation.ts';
import type { ChipDevice } from '../../engine/hardware/chip.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { KernelOptions } from '../../engine/kernels/open-kernels.ts';
import type { Model } from '../../engine/model/model.ts';
import { modelOperators } from '../../engine/model/operators.ts';
import type { TensorPartition } from '../../engine/plan/tensor-partition.ts';
import type { Graph, GraphResult, SecondProcessor } from '../../engine/runtime/second-processor.ts';
import { createChannel, FINISHED, FORGOTTEN, readGraph, SLEEP, SUBMITTED, writeGraph } from './channel.ts';
import type { GraphMessage, NpuThread, ResultMessage } from './thread.ts';

export interface StandInOptions {
  readonly file: string;
  readonly model: Model;
  /** The chip whose NPU the thread stands for. */
  readonly device: ChipDevice;
  /** Of the thread. */
  readonly kernels: KernelOptions;
  readonly partition: Pick<TensorPartition, 'synchronisation' | 'graphs' | 'promptTokens'>;
}

/** A thread that stands for the NPU of a chip. */
export interface StandIn extends SecondProcessor {
  /** Forgets the graphs that were generated. */
  forget(): void;
  close(): Promise<void>;
}

/** Seconds after which a graph counts as hung. */
const MOST_SECONDS = 60;

/** Starts a thread that stands for an NPU, and waits until it has the model. */
export async function openStandIn(options: StandInOptions): Promise<StandIn> {
  const { file, model, device, kernels, partition } = options;
  const operators = Object.values(modelOperators(model));
  const tokens = partition.promptTokens + device.soc.npu.longestGraph;
  const channel = createChannel({
    x: tokens * Math.max(...operators.map(({ columns }) => columns)),
    y: tokens * Math.max(...operators.map(({ rows }) => rows)),
  });
  const { synchronisation, graphs } = partition;
  const data: NpuThread = { file, kernels, device, synchronisation, generates: graphs === 'online', channel };
  // A thread's first file can't be TypeScript.
  const [tsx, thread] = [import.meta.resolve('tsx/esm/api'), new URL('./thread.ts', import.meta.url).href];
  const start = `import('${tsx}').then(({ register }) => { register(); return import('${thread}'); })`;
  const worker = new Worker(start, {
    eval: true,
    workerData: data,
  });
  await once(worker, 'message');
  const begin = synchronisation === 'fast' ? submitFast({ channel, device, model }) : submitNaively(worker);
  return {
    begin,
    forget() {
      Atomics.add(channel.control, FORGOTTEN, 1);
    },
    async close() {
      await worker.terminate();
    },
  };
}

/** Naive synchronisation (HeteroLLM 3.1): messages, whose values are copied there and back. */
function submitNaively(worker: Worker): SecondProcessor['begin'] {
  const waiting: ((values: Float32Array) => void)[] = [];
  worker.on('message', ({ values }: ResultMessage) => waiting.shift()?.(values));
  return ({ name, layer, rows, columns, length, x }) => {
    const done = new Promise<Float32Array>((resolve) => waiting.push(resolve));
    worker.postMessage({ name, layer, rows, columns, length, x: x.slice() } satisfies GraphMessage);
    return () => done;
  };
}

/**
 * Fast synchronisation (HeteroLLM 4.2): both threads see the same memory. This one sleeps for whole granules of the time
 * that the graph is expected to take, then polls a counter.
 */
function submitFast({
  channel,
  device,
  model,
}: Pick<StandInOptions, 'device' | 'model'> & {
  readonly channel: ReturnType<typeof createChannel>;
}): SecondProcessor['begin'] {
  const { control, x, y } = channel;
  const operators = modelOperators(model);
  const { synchronisation } = device.soc;
  let [submitted, under] = [0, 0];
  let at = { x: 0, y: 0 };
  let expectedEnd = 0;
  const wait = (number: number): Float32Array => {
    const predicted = Math.max(0, expectedEnd - performance.now() / 1000);
    const { sleep } = waitForFlag(predicted, predicted, synchronisation);
    // A sleep lasts up to a granule longer than it is asked to.
    const asked = sleep - synchronisation.sleep;
    if (asked > 0) Atomics.wait(control, SLEEP, 0, 1000 * asked);
    const most = performance.now() + 1000 * MOST_SECONDS;
    while (Atomics.load(control, FINISHED) <= number)
      if (performance.now() > most) throw new InputError('NPU', `its thread has not finished within ${MOST_SECONDS} s`);
    const { y: values } = readGraph(channel, number);
    if (--under === 0) at = { x: 0, y: 0 };
    return values;
  };
  return (graph: Graph): GraphResult => {
    const { name, rows, length } = graph;
    const number = submitted++;
    const [next, result] = [at.x + graph.x.length, at.y + length * rows];
    if (next > x.length || result > y.length) throw new RangeError(`${next} and ${result} values under way`);
    writeGraph(channel, number, graph, at);
    at = { x: next, y: result };
    under++;
    Atomics.store(control, SUBMITTED, submitted);
    Atomics.notify(control, SUBMITTED);
    const cut = { npuRows: rows, npuLengths: [length] };
    const now = performance.now() / 1000;
    expectedEnd = Math.max(expectedEnd, now) + npuPart({ operator: operators[name], cut }, device).seconds;
    return () => wait(number);
  };
}
