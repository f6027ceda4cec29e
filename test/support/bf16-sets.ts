/** Instruction sets that multiply rows of 16-bit weights with many tokens in bfloat16, both factors rounded to it. */
export const BF16_SETS: readonly (string | undefined)[] = ['amx', 'avx512bf16'];
