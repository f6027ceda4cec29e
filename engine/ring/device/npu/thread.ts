import { parentPort, workerData } from 'node:worker_threads';
import { graphSeconds } from '../../../cost/chip/npu.ts';
import { npuPart } from '../../../cost/chip/operator.ts';
import { openFile } from '../../../gguf/file-source.ts';
import { modelFromGguf } from '../../../gguf/model-from-gguf.ts';
import { readGguf } from '../../../gguf/read-gguf.ts';
import type { ChipDevice } from '../../../hardware/chip.ts';
import { type KernelOptions, openKernels } from '../../../kernels/open-kernels.ts';
import { modelOperators } from '../../../model/operators.ts';
import type { Synchronisation } from '../../../plan/tensor-partition.ts';
import { type Graph, kernelsAsSecond } from '../../../runtime/cut/second-processor.ts';
import { weightsLoader } from '../../../runtime/weights/transformer-weights.ts';
import { readPartFile } from '../part-file.ts';
import { type Channel, FINISHED, FORGOTTEN, readGraph, SUBMITTED } from './channel.ts';

/*
 * The thread that stands for an NPU. It has graphs of fixed shapes, which cost time to make, and takes as long for each
 * as the stage performance of a cluster file says (HeteroLLM 3.2), if it can compute it in that time; or, without such a file, as
 * it takes.
 */

/** Data that the thread is started with. */
export interface NpuThread {
  readonly file: string;
  readonly kernels: KernelOptions;
  readonly device: ChipDevice | undefined;
  readonly synchronisation: Synchronisation;
  /** Whether graphs that are missing cost the time that generating them takes. */
  readonly generates: boolean;
  readonly channel: Channel;
}

/** A graph and its results under naive synchronisation: messages are copies. */
export type GraphMessage = Omit<Graph, 'rounding' | 'places'>;
export interface ResultMessage {
  readonly values: Float32Array;
}

const { file, kernels: options, device, synchronisation, generates, channel } = workerData as NpuThread;
const { source } = openFile(file);
const gguf = readGguf(source);
const model = modelFromGguf(readPartFile(gguf).whole);
const operators = modelOperators(model);
const kernels = openKernels(options);
const weights = weightsLoader({ gguf, bytes: source, file: kernels.mapFile(file), kernels }, model);
const processor = kernelsAsSecond(kernels, weights, kernels.sharedVector?.(channel.values));
const made = new Set<string>();
let forgotten = 0;
/** Milliseconds of polling for the next graph before the thread sleeps. */
const POLLED = 2;

/**
 * Computes a graph, and waits until as many seconds have passed as the chip's NPU would take.
 * @returns its values, unless they are in their places
 */
function compute(graph: GraphMessage & Pick<Graph, 'places'>): Float32Array | undefined {
  const start = performance.now();
  const seconds = device === undefined ? 0 : secondsOf(graph, device);
  const values = processor.begin(graph)() as Float32Array | undefined;
  const end = start + 1000 * seconds;
  while (performance.now() < end);
  return values;
}

/** Seconds that the chip's NPU takes for a graph, and to make it if it is missing. */
function secondsOf({ name, rows, length }: Pick<Graph, 'name' | 'rows' | 'length'>, chip: ChipDevice): number {
  const operator = operators[name];
  const own = npuPart({ operator, cut: { npuRows: rows, npuLengths: [length] } }, chip).seconds;
  const now = Atomics.load(channel.control, FORGOTTEN);
  if (now !== forgotten) made.clear();
  forgotten = now;
  if (!generates || length === 1 || made.has(`${name} ${length}`)) return own;
  made.add(`${name} ${length}`);
  return own + graphSeconds(operator, length, chip.soc.npu);
}

if (synchronisation === 'naive') {
  parentPort?.on('message', (graph: GraphMessage) => {
    parentPort?.postMessage({ values: (compute(graph) as Float32Array).slice() } satisfies ResultMessage);
  });
  parentPort?.postMessage('ready');
} else {
  parentPort?.postMessage('ready');
  for (let number = 0; ; number++) {
    const most = performance.now() + POLLED;
    while (Atomics.load(channel.control, SUBMITTED) <= number)
      if (performance.now() > most) Atomics.wait(channel.control, SUBMITTED, number);
    const { isMerged, places, ...graph } = readGraph(channel, number);
    const values = compute(isMerged ? graph : { ...graph, places });
    if (values !== undefined) places[0]?.values.set(values);
    Atomics.store(channel.control, FINISHED, number + 1);
  }
}
