/** Operations of a layer without matrices, and their gradients. All vectors are [tokens][width]. */

/** y = x/√(mean x² + ε)·weight. @returns 1/√(mean x² + ε) of each token */
export function normalise(x: Float32Array, weight: Float32Array, y: Float32Array, epsilon: number): Float32Array {
  const width = weight.length;
  const scales = new Float32Array(x.length / width);
  for (let token = 0; token < scales.length; token++) {
    const at = token * width;
    let sum = 0;
    for (let i = 0; i < width; i++) sum += (x[at + i] as number) ** 2;
    const scale = 1 / Math.sqrt(sum / width + epsilon);
    scales[token] = scale;
    for (let i = 0; i < width; i++) y[at + i] = (x[at + i] as number) * scale * (weight[i] as number);
  }
  return scales;
}

export interface NormGradient {
  readonly x: Float32Array;
  readonly weight: Float32Array;
  /** As `normalise` returned them. */
  readonly scales: Float32Array;
  readonly dy: Float32Array;
  /** dx is added to what is there. */
  readonly dx: Float32Array;
  /** Overwritten. */
  readonly dWeight: Float32Array;
}

/** dx += s·(w∘dy − x·s²·mean(x∘w∘dy)), with the scale s of the token. */
export function normaliseBackward({ x, weight, scales, dy, dx, dWeight }: NormGradient): void {
  const width = weight.length;
  dWeight.fill(0);
  for (let token = 0; token < scales.length; token++) {
    const at = token * width;
    const scale = scales[token] as number;
    let mean = 0;
    for (let i = 0; i < width; i++) {
      const product = (x[at + i] as number) * (dy[at + i] as number);
      mean += (weight[i] as number) * product;
      dWeight[i]! += product * scale;
    }
    mean *= scale ** 2 / width;
    for (let i = 0; i < width; i++)
      dx[at + i]! += scale * ((weight[i] as number) * (dy[at + i] as number) - (x[at + i] as number) * mean);
  }
}

/** y = gate/(1 + e^−gate)·up. */
export function swiglu(gate: Float32Array, up: Float32Array, y: Float32Array): void {
  for (let i = 0; i < y.length; i++) {
    const g = gate[i] as number;
    y[i] = (g / (1 + Math.exp(-g))) * (up[i] as number);
  }
}

/** The gradients of gate and up take the place of dGate and dUp. */
export function swigluBackward(
  { gate, up }: { readonly gate: Float32Array; readonly up: Float32Array },
  dy: Float32Array,
  { dGate, dUp }: { readonly dGate: Float32Array; readonly dUp: Float32Array },
): void {
  for (let i = 0; i < dy.length; i++) {
    const g = gate[i] as number;
    const sigmoid = 1 / (1 + Math.exp(-g));
    const d = dy[i] as number;
    dUp[i] = d * g * sigmoid;
    dGate[i] = d * (up[i] as number) * sigmoid * (1 + g * (1 - sigmoid));
  }
}

/**
 * The mean cross-entropy of the targets, nats, and its gradient in the place of the logits.
 * @param logits [tokens][vocabulary]
 */
export function crossEntropy(logits: Float32Array, targets: Uint16Array): number {
  const vocabulary = logits.length / targets.length;
  let total = 0;
  for (const [token, target] of targets.entries()) {
    const row = logits.subarray(token * vocabulary, (token + 1) * vocabulary);
    let largest = Number.NEGATIVE_INFINITY;
    for (const logit of row) largest = Math.max(largest, logit);
    let sum = 0;
    for (let i = 0; i < vocabulary; i++) {
      row[i] = Math.exp((row[i] as number) - largest);
      sum += row[i] as number;
    }
    total -= Math.log((row[target] as number) / sum);
    for (let i = 0; i < vocabulary; i++) row[i]! /= sum * targets.length;
    row[target]! -= 1 / targets.length;
  }
  return total / targets.length;
}
