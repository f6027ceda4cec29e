/** Settings of the rotary position embedding, from a model's metadata. */
export interface RopeSettings {
  /** Values of a head that are rotated. */
  readonly dimensions: number;
  readonly base: number;
  /** dimensions/2 divisors of the angles (`rope_freqs.weight` of Llama 3.1). */
  readonly factors?: ArrayLike<number>;
}

/**
 * Cosine and sine of θᵢ = position·base^(−2i/dimensions)/factorᵢ for positions `position`, `position` + 1, …
 * (Su et al. 2021, Eq. 15; the factors: Llama 3.1), computed in double precision.
 * @param out [tokens][dimensions/2][cosine, sine]; its length gives the number of tokens
 */
export function ropeAngles({ dimensions, base, factors }: RopeSettings, position: number, out: Float32Array): void {
  if (out.length % dimensions !== 0) throw new RangeError(`${out.length} angles for ${dimensions} dimensions`);
  const pairs = dimensions / 2;
  for (let i = 0; i < pairs; i++) {
    const power = base ** ((-2 * i) / dimensions);
    const factor = factors?.[i] ?? 1;
    for (let at = i, token = position; 2 * at < out.length; at += pairs, token++) {
      const angle = (token * power) / factor;
      out[2 * at] = Math.cos(angle);
      out[2 * at + 1] = Math.sin(angle);
    }
  }
}
