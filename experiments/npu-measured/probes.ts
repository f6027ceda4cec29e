import { npuPart } from '../../engine/cost/chip/operator.ts';
import type { ChipDevice } from '../../engine/hardware/chip.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { type KernelOptions, openKernels } from '../../engine/kernels/open-kernels.ts';
import { kvBytesPerToken, type Model } from '../../engine/model/model.ts';
import { modelOperators } from '../../engine/model/operators.ts';
import { quantizedBytes } from '../../engine/model/quantization.ts';
import { SYNCHRONISATIONS } from '../../engine/plan/tensor-partition.ts';
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
): () => Pick<MeasuredChip, 'flops' | 'bandwidth' | 'attention'> {
  const { rows, columns } = modelOperators(model)['gate-up'];
  const type = model.tensors.find(({ role }) => role === 'ffn_gate')?.quantization ?? 'Q8_0';
  const bytes = rows * quantizedBytes(columns, type);
  const matrices = Array.from({ length: MATRICES }, () =>
    kernels.matrix({ source: new Uint8Array(bytes).fill(WEIGHT_BYTE), type, rows, columns }),
  );
  const product = (tokens: number): (() => number) => {
    const x = kernels.vector(new Float32Array(tokens * columns).fill(0.01));
    const y = kernels.vector(tokens * rows);
    return () =>
      secondsOf((turn) => {
        const matrix = matrices[turn % MATRICES] as (typeof matrices)[number];
        kernels.run([{ kind: 'multiply', matrix, x, y }]);
      });
  };
  const [ofPrompt, ofToken, attention] = [product(PROMPT), product(1), probeAttention(kernels, model)];
  return () => ({
    flops: (2 * rows * columns * PROMPT) / ofPrompt(),
    bandwidth: bytes / ofToken(),
    attention: attention(),
  });
}

/** Bytes of KV cache per second in attention over as many tokens. */
function probeAttention(kernels: Kernels, model: Model): () => number {
  const { heads, kvHeads, headSize } = model;
  const cache = kernels.cache({ type: 'F16', kvHeads, capacity: PROMPT, headSize });
  const queries = kernels.vector(new Float32Array(heads * headSize).fill(0.01));
  const y = kernels.vector(heads * headSize);
  const scale = 1 / Math.sqrt(headSize);
  const position = PROMPT - 1;
  const operation = { kind: 'attention', cache, queries, y, heads, position, scale } as const;
  return () => (PROMPT * kvBytesPerToken(model)) / secondsOf(() => kernels.run([operation]));
}

/** Seconds by which the thread sleeps longer than asked for. */
function probeSleep(): number {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const asked = 1e-3;
  return secondsOf(() => void Atomics.wait(cell, 0, 0, 1000 * asked)) - asked;
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
      const rates = { ...control(), oversleep: probeSleep() };
      const free = slowedChip(chip, { ...rates, handOver: { fast: 0, naive: 0 } });
      const measured = { ...rates, handOver: await probeHandOver({ file, model, kernels: npuKernels }, free) };
      all.push(measured);
      return measured;
    },
    medians() {
      const of = (value: (one: MeasuredChip) => number): number => median(all.map(value));
      return {
        flops: of(({ flops }) => flops),
        bandwidth: of(({ bandwidth }) => bandwidth),
        attention: of(({ attention }) => attention),
        oversleep: of(({ oversleep }) => oversleep),
        handOver: { fast: of(({ handOver }) => handOver.fast), naive: of(({ handOver }) => handOver.naive) },
      };
    },
    close: () => opened.close(),
  };
}

/** Seconds of a token's graph beyond what the NPU takes for it, in both ways of synchronising. */
async function probeHandOver(
  parts: { readonly file: string; readonly model: Model; readonly kernels: KernelOptions },
  device: ChipDevice,
): Promise<MeasuredChip['handOver']> {
  const name = 'attention-output';
  const operator = modelOperators(parts.model)[name];
  const { columns } = operator;
  const rows = device.soc.npu.tile;
  const own = npuPart({ operator, cut: { npuRows: rows, npuLengths: [1] } }, device).seconds;
  const found: Record<string, number> = {};
  for (const synchronisation of SYNCHRONISATIONS) {
    const partition = { synchronisation, graphs: 'prepared', promptTokens: 1 } as const;
    const standIn = await openStandIn({ ...parts, device, partition });
    const x = new Float32Array(columns).fill(0.01);
    const seconds: number[] = [];
    for (let turn = 0; turn < HAND_OVERS; turn++) {
      const start = performance.now();
      await standIn.begin({ name, layer: 0, rows, columns, length: 1, x })();
      seconds.push((performance.now() - start) / 1000 - own);
    }
    await standIn.close();
    found[synchronisation] = Math.max(0, median(seconds));
  }
  return { fast: found.fast as number, naive: found.naive as number };
}

function secondsOf(run: (turn: number) => void): number {
  const seconds = Array.from({ length: REPEATS }, (_, turn) => {
    const start = performance.now();
    run(turn);
    return (performance.now() - start) / 1000;
  });
  return median(seconds.slice(REPEATS / 2));
}
