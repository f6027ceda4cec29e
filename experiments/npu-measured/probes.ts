import { npuPart } from '../../engine/cost/chip/operator.ts';
import type { ChipDevice } from '../../engine/hardware/chip.ts';
import { type KernelOptions, openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Model } from '../../engine/model/model.ts';
import { modelOperators } from '../../engine/model/operators.ts';
import type { Synchronisation } from '../../engine/plan/tensor-partition.ts';
import { controlThreadProbe } from '../../engine/profile/control-thread.ts';
import { quietSample, type TimedRun, timedRun } from '../../engine/profile/quiet-runs.ts';
import { openStandIn } from '../../engine/ring/device/npu/stand-in.ts';
import { type MeasuredChip, slowedChip } from '../measure/slowed-chip.ts';
import { median } from '../report/median.ts';

/** Runs of a probe; the later half counts, when the machine's code is compiled. */
const REPEATS = 30;
/** Tokens of the graph whose copies are timed. */
const PROMPT = 64;

/** Seconds by which the thread sleeps longer than asked for. */
async function probeSleep(): Promise<number> {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const asked = 1e-3;
  return (await secondsOf(() => void Atomics.wait(cell, 0, 0, 1000 * asked))) - asked;
}

const HAND_OVERS = 100;

export interface ProbeParts {
  readonly file: string;
  readonly model: Model;
  readonly chip: ChipDevice;
  /** Kernels of the control thread, and of the NPU's. */
  readonly kernels: KernelOptions;
  readonly npuKernels: KernelOptions;
}

/** Probes that are measured again and again, in turn with what they are to predict. */
export interface Probes {
  measure(): Promise<MeasuredChip>;
  /** The median of each value over all measurements. */
  medians(): MeasuredChip;
  close(): Promise<void>;
}

export function createProbes({ file, model, chip, kernels, npuKernels }: ProbeParts): Probes {
  const opened = openKernels(kernels);
  const control = controlThreadProbe(opened, model);
  const all: MeasuredChip[] = [];
  let handOvers: HandOverProbe | undefined;
  return {
    async measure() {
      const rates = { ...(await control()), oversleep: await probeSleep() };
      const free = slowedChip(chip, { ...rates, handOver: { fast: 0, naive: 0, naivePerToken: 0 } });
      handOvers ??= await openHandOvers({ file, model, kernels: npuKernels }, free);
      const measured = { ...rates, handOver: await handOvers.measure() };
      all.push(measured);
      return measured;
    },
    medians() {
      const of = (value: (one: MeasuredChip) => number): number => median(all.map(value));
      const handOver = (key: keyof MeasuredChip['handOver']): number => of((one) => one.handOver[key]);
      return {
        flops: of(({ flops }) => flops),
        bandwidth: of(({ bandwidth }) => bandwidth),
        attention: of(({ attention }) => attention),
        promptAttention: of(({ promptAttention }) => promptAttention),
        activations: of(({ activations }) => activations),
        dispatch: of(({ dispatch }) => dispatch),
        oversleep: of(({ oversleep }) => oversleep),
        handOver: {
          fast: handOver('fast'),
          naive: handOver('naive'),
          naivePerToken: handOver('naivePerToken'),
        },
      };
    },
    async close() {
      opened.close();
      await handOvers?.close();
    },
  };
}

interface HandOverParts {
  readonly file: string;
  readonly model: Model;
  readonly kernels: KernelOptions;
}

interface HandOverProbe {
  measure(): Promise<MeasuredChip['handOver']>;
  close(): Promise<void>;
}

/** Seconds of graphs beyond what the NPU takes for them, in both ways of synchronising. */
async function openHandOvers(parts: HandOverParts, device: ChipDevice): Promise<HandOverProbe> {
  const { tile } = device.soc.npu;
  const { rows } = modelOperators(parts.model)[COPIED];
  const fast = await openHandOver(parts, device, { synchronisation: 'fast', rows: tile, tokens: 1 });
  const naive = await openHandOver(parts, device, { synchronisation: 'naive', rows: tile, tokens: 1 });
  const prompt = await openHandOver(parts, device, { synchronisation: 'naive', rows, tokens: PROMPT });
  return {
    async measure() {
      const [ofFast, ofNaive, ofPrompt] = [await fast.seconds(), await naive.seconds(), await prompt.seconds()];
      return { fast: ofFast, naive: ofNaive, naivePerToken: Math.max(0, ofPrompt - ofNaive) / (PROMPT - 1) };
    },
    async close() {
      for (const one of [fast, naive, prompt]) await one.close();
    },
  };
}

/** The operator with about as many values in and out as a layer's operators have on average. */
const COPIED = 'down';

async function openHandOver(
  parts: HandOverParts,
  device: ChipDevice,
  graph: { readonly synchronisation: Synchronisation; readonly rows: number; readonly tokens: number },
): Promise<{ seconds(): Promise<number>; close(): Promise<void> }> {
  const { synchronisation, rows, tokens } = graph;
  const operator = modelOperators(parts.model)[COPIED];
  const { columns } = operator;
  const own = npuPart({ operator, cut: { npuRows: rows, npuLengths: [tokens] } }, device).seconds;
  const partition = { synchronisation, graphs: 'prepared' } as const;
  const graphTokens = tokens + device.soc.npu.longestGraph;
  const standIn = await openStandIn({ ...parts, device, partition, graphTokens, ownTokens: tokens });
  const x = (standIn.reserve?.(tokens * columns) ?? new Float32Array(tokens * columns)).fill(0.01);
  return {
    async seconds() {
      const runs: TimedRun[] = [];
      for (let turn = 0; turn < (tokens === 1 ? HAND_OVERS : REPEATS); turn++)
        runs.push(await timedRun(() => standIn.begin({ name: COPIED, layer: 0, rows, columns, length: tokens, x })()));
      return Math.max(0, quietSample(runs.slice(runs.length / 2)).median - own);
    },
    close: () => standIn.close(),
  };
}

async function secondsOf(run: (turn: number) => void): Promise<number> {
  const runs: TimedRun[] = [];
  for (let turn = 0; turn < REPEATS; turn++) runs.push(await timedRun(() => run(turn)));
  return quietSample(runs.slice(REPEATS / 2)).median;
}
