import { activationValueBytes } from '../../cost/layer-seconds.ts';
import type { Operation } from '../../kernels/operation.ts';
import type { LayerWidths } from '../../model/architecture.ts';
import { type Bench, secondsPerUnit } from './bench.ts';

/** Widths of a model of about a billion weights. */
const WIDTHS: LayerWidths = {
  hiddenSize: 2048,
  ffnSize: 5632,
  heads: 32,
  kvHeads: 4,
  headSize: 64,
};
/** Tokens of a prompt whose activations exceed a second-level cache. */
const TOKENS = 128;

/**
 * Measures the bytes per second (F32) of a layer's element-wise operations between products: norms, rotations and
 * gates.
 */
export function activationRate({ kernels, clock }: Bench): () => Promise<number> {
  const { hiddenSize, ffnSize, heads, kvHeads, headSize } = WIDTHS;
  const vector = (width: number) => kernels.vector(new Float32Array(TOKENS * width).fill(0.5));
  const [x, h, gate, up] = [vector(hiddenSize), vector(hiddenSize), vector(ffnSize), vector(ffnSize)];
  const [q, k, angles] = [vector(heads * headSize), vector(kvHeads * headSize), vector(headSize)];
  const weight = kernels.vector(new Float32Array(hiddenSize).fill(1));
  const norm: Operation = { kind: 'rms-norm', x, weight, y: h, epsilon: 1e-5 };
  const layer: Operation[] = [
    norm,
    { kind: 'rope', x: q, angles, heads, headSize, pairs: 'adjacent' },
    { kind: 'rope', x: k, angles, heads: kvHeads, headSize, pairs: 'adjacent' },
    norm,
    // Not in place: repeated gating would produce denormal numbers, which slow down the arithmetic.
    { kind: 'gate', activation: 'silu', gate, up, y: vector(ffnSize) },
  ];
  const perLayer = secondsPerUnit(clock, (units) => {
    const operations = Array.from({ length: units }, () => layer).flat();
    return () => kernels.run(operations);
  });
  return async () => (TOKENS * activationValueBytes(WIDTHS)) / (await perLayer());
}
