import { QUANTIZATIONS, type Quantization } from '../../engine/model/quantization.ts';

const WIDE: readonly Quantization[] = ['Q8_0', 'IQ4_NL', 'IQ4_XS'];

/**
 * Most tokens that an instruction set multiplies singly where their number decides, unless products are to be exact
 * (`most` in native/kernels/table.hpp).
 */
export function mostSingly(set: string | undefined, type: Quantization): number {
  const isFloat = QUANTIZATIONS[type].block === 1;
  if (set?.startsWith('avx512') === true || set?.startsWith('amx') === true) return /^IQ[123]/.test(type) ? 8 : 16;
  if (set !== 'avx2' && set !== 'avxvnni') return isFloat ? 7 : 3;
  if (isFloat) return 12;
  if (WIDE.includes(type)) return set === 'avx2' ? 8 : 4;
  return /^Q\d_K$/.test(type) ? 8 : 4;
}
