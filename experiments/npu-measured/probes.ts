import { npuPart } from '../../engine/cost/chip/operator.ts';
import { chipSteps } from '../../engine/cost/chip/steps.ts';
import type { ChipDevice } from '../../engine/hardware/chip.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { type KernelOptions, openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Vector } from '../../engine/kernels/vector.ts';
import { kvBytesPerToken, type Model } from '../../engine/model/model.ts';
import { modelOperators } from '../../engine/model/operators.ts';
import { quantizedBytes } from '../../engine/model/quantization.ts';
import type { Synchronisation } from '../../engine/plan/tensor-partition.ts';
import { quietSample, type TimedRun, timedRun } from '../../engine/profile/quiet-runs.ts';
import { median } from '../report/median.ts';
import { type MeasuredChip, slowedChip } from './slowed-chip.ts';
import { openStandIn } from './stand-in.ts';

/** Runs of a probe; the later half counts, when the machine's code is compiled. */
const REPEATS = 30;
/** Matrices that are multiplied in turn: together they exceed a core's caches, as a model does. */
const MATRICES = 8;
/** Tokens of the product that stands for prompts. */
const PROMPT = 64;
/** A byte that makes a reasonable weight and a reasonable scale at any position in a block. */
const WEIGHT_BYTE = 0x2a;

/** The rates of the widest product of a layer, for a prompt and for a token, and of attention. */
function probeControlThread(
  kernels: Kernels,
  model: Model,
): () => Promise<Omit<MeasuredChip, 'handOver' | 'oversleep'>> {
  const { rows, columns } = modelOperators(model)['gate-up'];
  const type = model.tensors.find(({ role }) => role === 'ffn_gate')?.quantization ?? 'Q8_0';
  const bytes = rows * quantizedBytes(columns, type);
  const matrices = Array.from({ length: MATRICES }, () =>
    kernels.matrix({ source: new Uint8Array(bytes).fill(WEIGHT_BYTE), type, rows, columns }),
  );
  const product = (tokens: number): (() => Promise<number>) => {
    const x = kernels.vector(new Float32Array(tokens * columns).fill(0.01));
    const y = kernels.vector(tokens * rows);
    return () =>
      secondsOf((turn) => {
        const matrix = matrices[turn % MATRICES] as (typeof matrices)[number];
        kernels.run([{ kind: 'multiply', matrix, x, y }]);
      });
  };
  const [ofPrompt, ofToken, attention] = [product(PROMPT), product(1), probeAttention(kernels, model)];
  const between = probeBetween(kernels, model);
  return async () => ({
    ...(await between()),
    flops: (2 * rows * columns * PROMPT) / (await ofPrompt()),
    bandwidth: bytes / (await ofToken()),
    attention: await attention(),
  });
}

/**
 * What lies between operators, attention apart: norms, RoPE, storing keys and values, SwiGLU, in the runs that a partitioned
 * model makes of them. What a token takes more than the rate says, which a prompt gives, is a layer's dispatch.
 */
function probeBetween(kernels: Kernels, model: Model): () => Promise<Pick<MeasuredChip, 'activations' | 'dispatch'>> {
  const { hiddenSize, heads, kvHeads, headSize, ffnSize } = model;
  const bytesOf = (tokens: number): number =>
    chipSteps(model, tokens, PROMPT).layer.reduce(
      (sum, step) => (step.kind === 'kernel' && step.work.attended === undefined ? sum + 2 * step.work.bytes : sum),
      0,
    );
  const layer = (tokens: number): (() => Promise<number>) => {
    const vector = (width: number): Vector => kernels.vector(new Float32Array(tokens * width).fill(0.01));
    const [x, h, q, k, v] = [hiddenSize, hiddenSize, heads * headSize, kvHeads * headSize, kvHeads * headSize].map(
      vector,
    ) as [Vector, Vector, Vector, Vector, Vector];
    const [gate, up, angles] = [vector(ffnSize), vector(ffnSize), vector(headSize)];
    const weight = kernels.vector(new Float32Array(hiddenSize).fill(1));
    const cache = kernels.cache({ type: 'F16', kvHeads, capacity: tokens, headSize });
    const norm = { kind: 'rms-norm', x, weight, y: h, epsilon: 1e-5 } as const;
    const rope = { kind: 'rope', angles, headSize, pairs: 'adjacent' } as const;
    return () =>
      secondsOf(() => {
        kernels.run([norm]);
        kernels.run([
          { ...rope, x: q, heads },
          { ...rope, x: k, heads: kvHeads },
          { kind: 'store', cache, keys: k, values: v, position: 0 },
        ]);
        kernels.run([norm]);
        kernels.run([{ kind: 'swiglu', gate, up, y: gate }]);
      });
  };
  const [ofPrompt, ofToken] = [layer(PROMPT), layer(1)];
  return async () => {
    const [prompt, token] = [await ofPrompt(), await ofToken()];
    const activations = (bytesOf(PROMPT) - bytesOf(1)) / (prompt - token);
    return { activations, dispatch: Math.max(0, token - bytesOf(1) / activations) };
  };
}

/** Bytes of KV cache per second in attention over as many tokens. */
function probeAttention(kernels: Kernels, model: Model): () => Promise<number> {
  const { heads, kvHeads, headSize } = model;
  const cache = kernels.cache({ type: 'F16', kvHeads, capacity: PROMPT, headSize });
  const queries = kernels.vector(new Float32Array(heads * headSize).fill(0.01));
  const y = kernels.vector(heads * headSize);
  const scale = 1 / Math.sqrt(headSize);
  const position = PROMPT - 1;
  const operation = { kind: 'attention', cache, queries, y, heads, position, scale } as const;
  return async () => (PROMPT * kvBytesPerToken(model)) / (await secondsOf(() => kernels.run([operation])));
}

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
  /** Of the control thread, and of the NPU's. */
  readonly kernels: KernelOptions;
  readonly npuKernels: KernelOptions;
}

/** Probes that are measured again and again, in turn with what they are to predict. */
export interface Probes {
  measure(): Promise<MeasuredChip>;
  /** The median of each value over all measurements. */
  medians(): MeasuredChip;
  close(): void;
}

export function createProbes({ file, model, chip, kernels, npuKernels }: ProbeParts): Probes {
  const opened = openKernels(kernels);
  const control = probeControlThread(opened, model);
  const all: MeasuredChip[] = [];
  return {
    async measure() {
      const rates = { ...(await control()), oversleep: await probeSleep() };
      const free = slowedChip(chip, { ...rates, handOver: { fast: 0, naive: 0, naivePerToken: 0 } });
      const measured = { ...rates, handOver: await probeHandOver({ file, model, kernels: npuKernels }, free) };
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
    close: () => opened.close(),
  };
}

interface HandOverParts {
  readonly file: string;
  readonly model: Model;
  readonly kernels: KernelOptions;
}

/** Seconds of a graph beyond what the NPU takes for it, in both ways of synchronising. */
async function probeHandOver(parts: HandOverParts, device: ChipDevice): Promise<MeasuredChip['handOver']> {
  const { tile } = device.soc.npu;
  const fast = await handOverOf(parts, device, { synchronisation: 'fast', rows: tile, tokens: 1 });
  const naive = await handOverOf(parts, device, { synchronisation: 'naive', rows: tile, tokens: 1 });
  const { rows } = modelOperators(parts.model)[COPIED];
  const prompt = await handOverOf(parts, device, { synchronisation: 'naive', rows, tokens: PROMPT });
  return { fast, naive, naivePerToken: Math.max(0, prompt - naive) / (PROMPT - 1) };
}

/** The operator with about as many values in and out as a layer's operators have on average. */
const COPIED = 'down';

async function handOverOf(
  parts: HandOverParts,
  device: ChipDevice,
  graph: { readonly synchronisation: Synchronisation; readonly rows: number; readonly tokens: number },
): Promise<number> {
  const { synchronisation, rows, tokens } = graph;
  const operator = modelOperators(parts.model)[COPIED];
  const { columns } = operator;
  const own = npuPart({ operator, cut: { npuRows: rows, npuLengths: [tokens] } }, device).seconds;
  const partition = { synchronisation, graphs: 'prepared', promptTokens: tokens } as const;
  const standIn = await openStandIn({ ...parts, device, partition });
  try {
    const x = (standIn.reserve?.(tokens * columns) ?? new Float32Array(tokens * columns)).fill(0.01);
    const runs: TimedRun[] = [];
    for (let turn = 0; turn < (tokens === 1 ? HAND_OVERS : REPEATS); turn++)
      runs.push(await timedRun(() => standIn.begin({ name: COPIED, layer: 0, rows, columns, length: tokens, x })()));
    return Math.max(0, quietSample(runs.slice(runs.length / 2)).median - own);
  } finally {
    await standIn.close();
  }
}

async function secondsOf(run: (turn: number) => void): Promise<number> {
  const runs: TimedRun[] = [];
  for (let turn = 0; turn < REPEATS; turn++) runs.push(await timedRun(() => run(turn)));
  return quietSample(runs.slice(REPEATS / 2)).median;
}
