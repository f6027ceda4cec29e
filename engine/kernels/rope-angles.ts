/** Settings of the rotary position embedding, from a model's metadata. */
export interface RopeSettings {
  /** Values of a head that are rotated. */
  readonly dimensions: number;
  readonly base: number;
  /** dimensions/2 divisors of the angles (`rope_freqs.weight` of Llama 3.1). */
  readonly factors?: ArrayLike<number>;
  /** Factor of cosines and sines; missing: 1 (YaRN and longrope). */
  readonly magnitude?: number;
}

/**
 * Cosine and sine, times the magnitude, of θᵢ = position·base^(−2i/dimensions)/factorᵢ for positions `position`, `position` + 1, …
 * (Su et al. 2021, Eq. 15; the factors: Llama 3.1), computed in double precision.
 * @param out [tokens][dimensions/2][cosine, sine]; its length gives the number of tokens
 */
export function ropeAngles(
  { dimensions, base, factors, magnitude = 1 }: RopeSettings,
  position: number,
  out: Float32Array,
): void {
  if (out.length % dimensions !== 0) throw new RangeError(`${out.length} angles for ${dimensions} dimensions`);
  const pairs = dimensions / 2;
  for (let i = 0; i < pairs; i++) {
    const power = base ** ((-2 * i) / dimensions);
    const factor = factors?.[i] ?? 1;
    for (let at = i, token = position; 2 * at < out.length; at += pairs, token++) {
      const angle = (token * power) / factor;
      out[2 * at] = magnitude * Math.cos(angle);
      out[2 * at + 1] = magnitude * Math.sin(angle);
    }
  }
}
