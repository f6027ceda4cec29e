import { chipSteps } from '../cost/chip/steps.ts';
import type { Kernels } from '../kernels/kernels.ts';
import type { Vector } from '../kernels/vector.ts';
import { kvBytesPerToken } from '../model/kv-format.ts';
import type { Model } from '../model/model.ts';
import { modelOperators } from '../model/operators.ts';
import { quantizedBytes } from '../model/quantization.ts';
import { quietSample, type TimedRun, timedRun } from './quiet-runs.ts';

/** The rates of kernels that have the GPU's part of a chip: products, and all that isn't a product. */
export interface ControlRates {
  /** FLOP per second of products of a prompt. */
  readonly flops: number;
  /** Bytes per second of weights that are multiplied for a token. */
  readonly bandwidth: number;
  /** Bytes of KV cache per second in attention of a token. */
  readonly attention: number;
  /** The same of a prompt, whose tokens share what they read, so that a token meets half of the prompt on average. */
  readonly promptAttention: number;
  /** Bytes (F32) per second of what lies between operators, without attention; and the constant seconds per layer. */
  readonly activations: number;
  readonly dispatch: number;
}

/** Runs of a probe; the later half counts, when the machine's code is compiled. */
const REPEATS = 30;
/** Matrices that are multiplied in turn: together they exceed a core's caches, as a model does. */
const MATRICES = 8;
/** Tokens of the product that stands for prompts. */
const PROMPT = 64;
/** Tokens that attention meets, of a prompt and of a token: what a call takes by itself no longer counts for much. */
const ATTENDED = 256;
/** A byte that makes a reasonable weight and a reasonable scale at any position in a block. */
const WEIGHT_BYTE = 0x2a;

/**
 * Creates a probe of kernels with a model's shapes, to be run in turn with what it is to predict: the widest product of
 * a layer, for a prompt and for a token, attention, and what lies between.
 */
export function controlThreadProbe(kernels: Kernels, model: Model): () => Promise<ControlRates> {
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
  const [ofPrompt, ofToken] = [product(PROMPT), product(1)];
  const [between, attention] = [probeBetween(kernels, model), probeAttention(kernels, model)];
  return async () => {
    const [{ activations, dispatch }, { call, ...attending }] = [await between(), await attention()];
    return {
      flops: (2 * rows * columns * PROMPT) / (await ofPrompt()),
      bandwidth: bytes / (await ofToken()),
      ...attending,
      activations,
      dispatch: dispatch + call,
    };
  };
}

/**
 * Rates of the work between operators, attention apart: norms, RoPE, storing keys and values, SwiGLU, in the runs that
 * a partitioned model makes of them. What a token takes more than the rate says, which a prompt gives, is a layer's
 * dispatch.
 */
function probeBetween(kernels: Kernels, model: Model): () => Promise<Pick<ControlRates, 'activations' | 'dispatch'>> {
  const { hiddenSize, heads, kvHeads, headSize, ffnSize } = model.mean;
  const bytesOf = (tokens: number): number =>
    chipSteps(model, { phase: tokens === 1 ? 'decode' : 'prefill', tokens, context: PROMPT }).layer.reduce(
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
        kernels.run([{ kind: 'gate', activation: 'silu', gate, up, y: gate }]);
      });
  };
  const [ofPrompt, ofToken] = [layer(PROMPT), layer(1)];
  return async () => {
    const [prompt, token] = [await ofPrompt(), await ofToken()];
    const activations = (bytesOf(PROMPT) - bytesOf(1)) / (prompt - token);
    return { activations, dispatch: Math.max(0, token - bytesOf(1) / activations) };
  };
}

type AttentionProbe = Pick<ControlRates, 'attention' | 'promptAttention'> & {
  /** Seconds of a call for a token, before any bytes. */
  readonly call: number;
};

/**
 * Attention of a prompt, and of the last token of one and of a shorter one, whose difference is without the call
 * itself.
 */
function probeAttention(kernels: Kernels, model: Model): () => Promise<AttentionProbe> {
  const { heads, kvHeads, headSize } = model.mean;
  const cache = kernels.cache({ type: 'F16', kvHeads, capacity: ATTENDED, headSize });
  const scale = 1 / Math.sqrt(headSize);
  const attention = (tokens: number, position: number): (() => Promise<number>) => {
    const queries = kernels.vector(new Float32Array(tokens * heads * headSize).fill(0.01));
    const y = kernels.vector(tokens * heads * headSize);
    return () => secondsOf(() => kernels.run([{ kind: 'attention', cache, queries, y, heads, position, scale }]));
  };
  const bytes = ATTENDED * kvBytesPerToken(model.mean);
  const [ofPrompt, late, early] = [attention(ATTENDED, 0), attention(1, ATTENDED - 1), attention(1, ATTENDED / 4 - 1)];
  return async () => {
    const [longer, shorter] = [await late(), await early()];
    const difference = (4 / 3) * (longer - shorter);
    const attending = difference > 0 ? Math.min(longer, difference) : longer;
    return {
      attention: bytes / attending,
      promptAttention: (bytes * ATTENDED) / 2 / (await ofPrompt()),
      call: longer - attending,
    };
  };
}

/** Seconds of a probe's run, which other programs disturbed little. */
async function secondsOf(run: (turn: number) => void): Promise<number> {
  const runs: TimedRun[] = [];
  for (let turn = 0; turn < REPEATS; turn++) runs.push(await timedRun(() => run(turn)));
  return quietSample(runs.slice(REPEATS / 2)).median;
}
