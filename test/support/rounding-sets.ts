/** Instruction sets that multiply rows of 16-bit weights with many tokens in bfloat16, both factors rounded to it. */
export const BF16_SETS: readonly (string | undefined)[] = ['amx', 'amxint8', 'avx512bf16'];

/** Whether an instruction set rounds more unless products are to be exact; the others never do. */
export function roundsMore(set: string | undefined): boolean {
  return set?.startsWith('amx') === true || set?.startsWith('avx') === true;
}
