import type { Transformer } from '../../engine/runtime/pass/transformer.ts';

/**
 * A model's probabilities of the token after each token of a text but the last: [tokens − 1][vocabulary]. The text
 * takes the place of what the model's context had.
 */
export function predictions(model: Transformer, text: readonly number[]): Float32Array[] {
  const { vocabularySize } = model.model;
  model.rewind(0);
  const logits = model.evaluateAll(text.slice(0, -1));
  return Array.from({ length: text.length - 1 }, (_, row) =>
    softmax(logits.subarray(row * vocabularySize, (row + 1) * vocabularySize)),
  );
}

function softmax(logits: Float32Array): Float32Array {
  const largest = logits.reduce((most, logit) => Math.max(most, logit));
  const weights = logits.map((logit) => Math.exp(logit - largest));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/** −ln p of each token of a text but the first, in nats. */
export function surprises(model: Transformer, text: readonly number[]): number[] {
  return predictions(model, text).map((next, index) => -Math.log(next[text[index + 1] as number] as number));
}

/** The text that a model continues a prompt with, always by its most likely token, prompt included. */
export function greedyText(
  model: Transformer,
  prompt: readonly number[],
  { tokens, stops }: { readonly tokens: number; readonly stops: ReadonlySet<number> },
): number[] {
  model.rewind(0);
  const text = [...prompt];
  let logits = model.evaluate(prompt);
  for (let count = 0; count < tokens; count++) {
    const next = mostLikely(logits);
    text.push(next);
    if (stops.has(next)) break;
    logits = model.evaluate([next]);
  }
  return text;
}

/** The index of the largest value, the first of equal ones. */
export function mostLikely(values: Float32Array): number {
  return values.reduce((best, value, index) => (value > (values[best] as number) ? index : best), 0);
}
