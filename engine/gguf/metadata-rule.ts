/**
 * Treatment of an architecture's metadata key, without the architecture's name before it: `applied`, at the place
 * that `by` names; `neutral`: only with one of these values, since others change results in a way that isn't computed
 * here; `idle`: it changes no logits, here as in llama.cpp.
 */
export type MetadataRule =
  | { readonly kind: 'applied'; readonly by: string }
  | { readonly kind: 'neutral'; readonly values: readonly (number | boolean | string)[]; readonly effect: string }
  | { readonly kind: 'idle' };

export const applied = (by: string): MetadataRule => ({ kind: 'applied', by });
export const neutral = (effect: string, ...values: readonly (number | boolean | string)[]): MetadataRule => ({
  ...{ kind: 'neutral', values, effect },
});
export const IDLE: MetadataRule = { kind: 'idle' };
