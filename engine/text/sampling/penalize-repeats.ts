/**
 * Makes tokens that were there already less likely (Keskar et al. 2019, CTRL, section 4.1, with llama.cpp's sign rule):
 * a positive logit is divided by `penalty`, any other is multiplied by it, once however often the token occurred.
 * @param logits by token; left as they are
 * @param recent tokens; those outside the vocabulary are ignored
 * @param penalty 1 changes nothing
 */
export function penalizeRepeats(logits: Float32Array, recent: readonly number[], penalty: number): Float32Array {
  if (penalty === 1) return logits;
  const penalized = logits.slice();
  for (const token of new Set(recent)) {
    const logit = logits[token];
    if (logit !== undefined) penalized[token] = logit > 0 ? logit / penalty : logit * penalty;
  }
  return penalized;
}
