import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { npuPart } from '../../../cost/chip/operator.ts';
import { waitForFlag } from '../../../cost/chip/synchronisation.ts';
import { ownModule } from '../../../gguf/own-module.ts';
import type { ChipDevice } from '../../../hardware/chip.ts';
import { InputError } from '../../../input/input-error.ts';
import type { KernelOptions } from '../../../kernels/open-kernels.ts';
import type { Model } from '../../../model/model.ts';
import { modelOperators } from '../../../model/operators.ts';
import type { TensorPartition } from '../../../plan/tensor-partition.ts';
import type { Graph, GraphResult, SecondProcessor } from '../../../runtime/cut/second-processor.ts';
import { activationWidths } from '../../../runtime/pass/activations.ts';
import {
  type Channel,
  createChannel,
  FINISHED,
  FORGOTTEN,
  readGraph,
  SLEEP,
  SUBMITTED,
  writeGraph,
} from './channel.ts';
import type { GraphMessage, NpuThread, ResultMessage } from './thread.ts';

export interface StandInOptions {
  readonly file: string;
  readonly model: Model;
  /** The chip whose NPU the thread stands for, and whose times it takes; `undefined`: it is as fast as it computes. */
  readonly device: ChipDevice | undefined;
  /** Kernels of the thread. */
  readonly kernels: KernelOptions;
  readonly partition: Pick<TensorPartition, 'synchronisation' | 'graphs'>;
  /** Tokens of an operator's graphs together, at most. */
  readonly graphTokens: number;
  /** Tokens of the control thread's activations, for which memory can be reserved; default: none can. */
  readonly ownTokens?: number;
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
  const { file, model, device, kernels, partition, graphTokens, ownTokens = 0 } = options;
  const { synchronisation, graphs } = partition;
  const room = {
    graphs: graphValues(model, graphTokens),
    own: ownTokens === 0 ? 0 : activationValues(model, ownTokens),
  };
  const channel = createChannel(room.graphs + room.own);
  const data: NpuThread = { file, kernels, device, synchronisation, generates: graphs === 'online', channel };
  const worker = startThread(data);
  await once(worker, 'message');
  // Whatever waits for the thread says that it failed.
  worker.on('error', () => {});
  let reserved = room.graphs;
  const reserve = (values: number): Float32Array => {
    const from = reserved;
    reserved += values;
    if (reserved > channel.values.length) throw new RangeError(`${values} values more than the channel has`);
    return channel.values.subarray(from, reserved);
  };
  const processor: SecondProcessor =
    synchronisation === 'fast'
      ? { begin: submitFast({ channel, device, model, room: room.graphs }), ...(ownTokens > 0 && { reserve }) }
      : { begin: submitNaively(worker) };
  return {
    ...processor,
    forget() {
      Atomics.add(channel.control, FORGOTTEN, 1);
    },
    async close() {
      await worker.terminate();
    },
  };
}

function startThread(workerData: NpuThread): Worker {
  const { path, execArgv } = ownModule(new URL('./thread.ts', import.meta.url));
  const module = `import(${JSON.stringify(pathToFileURL(path).href)})`;
  if (execArgv.length === 0) return new Worker(module, { eval: true, workerData });
  // A thread's first file can't be TypeScript.
  const tsx = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const start = `import(${tsx}).then(({ register }) => { register(); return ${module}; })`;
  return new Worker(start, { eval: true, workerData });
}

/** Bytes of x and of results of an operator's graphs of this many tokens together, at most. */
export function graphsBytes(model: Model, tokens: number): number {
  return Float32Array.BYTES_PER_ELEMENT * graphValues(model, tokens);
}

/** Most values of x and of results of the graphs of an operator. */
function graphValues(model: Model, tokens: number): number {
  const operators = Object.values(modelOperators(model));
  return tokens * Math.max(...operators.map(({ rows, columns }) => rows + columns));
}

/** Values of the control thread's activations and logits. */
function activationValues(model: Model, tokens: number): number {
  const { headSize } = model.mean;
  const rotations = {
    byName: new Map([['global', { dimensions: headSize, base: 10_000, pairs: 'adjacent' }]] as const),
  };
  const widths = activationWidths(model, rotations);
  return tokens * widths.reduce((sum, width) => sum + width, 0) + model.vocabularySize;
}

/** Naive synchronisation (HeteroLLM 3.1): messages, whose values are copied there and back. */
function submitNaively(worker: Worker): SecondProcessor['begin'] {
  const waiting: { resolve(values: Float32Array): void; reject(error: Error): void }[] = [];
  worker.on('message', ({ values }: ResultMessage) => waiting.shift()?.resolve(values));
  worker.on('error', (error) => {
    for (const one of waiting.splice(0)) one.reject(error);
  });
  return ({ name, layer, rows, columns, length, x }) => {
    const done = new Promise<Float32Array>((resolve, reject) => waiting.push({ resolve, reject }));
    worker.postMessage({ name, layer, rows, columns, length, x: x.slice() } satisfies GraphMessage);
    return () => done;
  };
}

interface FastParts extends Pick<StandInOptions, 'device' | 'model'> {
  readonly channel: Channel;
  /** Values at the channel's beginning for what graphs can't leave where it is. */
  readonly room: number;
}

/**
 * Fast synchronisation (HeteroLLM 4.2): both threads see the same memory, so that x is read, and results in one piece are
 * written, where they are. This thread sleeps for whole granules of the time that the graph is expected to take, if a
 * chip's times are taken, then polls a counter.
 */
function submitFast({ channel, device, model, room }: FastParts): SecondProcessor['begin'] {
  const { control, values } = channel;
  const operators = modelOperators(model);
  let [submitted, under, used, expectedEnd] = [0, 0, 0, 0];
  const isShared = (own: Float32Array): boolean => own.buffer === values.buffer;
  const take = (count: number): Float32Array => {
    const from = used;
    used += count;
    if (used > room) throw new RangeError(`${used} values of graphs under way`);
    return values.subarray(from, used);
  };
  const copied = (x: Float32Array): Float32Array => {
    const copy = take(x.length);
    copy.set(x);
    return copy;
  };
  const sleepFor = (predicted: number, { soc: { synchronisation } }: ChipDevice): void => {
    const { sleep } = waitForFlag(predicted, predicted, synchronisation);
    // A sleep lasts up to a granule longer than it is asked to.
    const asked = sleep - synchronisation.sleep;
    if (asked > 0) Atomics.wait(control, SLEEP, 0, 1000 * asked);
  };
  const wait = (number: number): Float32Array | undefined => {
    if (device !== undefined) sleepFor(Math.max(0, expectedEnd - performance.now() / 1000), device);
    const most = performance.now() + 1000 * MOST_SECONDS;
    while (Atomics.load(control, FINISHED) <= number)
      if (performance.now() > most) throw new InputError('NPU', `its thread has not finished within ${MOST_SECONDS} s`);
    const { isMerged, places } = readGraph(channel, number);
    if (--under === 0) used = 0;
    return isMerged ? places[0]?.values : undefined;
  };
  return (graph: Graph): GraphResult => {
    const { name, rows, length, places = [] } = graph;
    const number = submitted++;
    const isMerged = places.length === 0 || !places.every((place) => isShared(place.values));
    writeGraph(channel, number, {
      ...graph,
      x: isShared(graph.x) ? graph.x : copied(graph.x),
      isMerged,
      places: isMerged ? [{ values: take(length * rows), accumulate: false }] : places,
    });
    under++;
    Atomics.store(control, SUBMITTED, submitted);
    Atomics.notify(control, SUBMITTED);
    const cut = { npuRows: rows, npuLengths: [length] };
    const now = performance.now() / 1000;
    if (device !== undefined)
      expectedEnd = Math.max(expectedEnd, now) + npuPart({ operator: operators[name], cut }, device).seconds;
    return () => wait(number);
  };
}
