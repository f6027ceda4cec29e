/** Instruction sets that multiply quantized rows with four tokens or more in bfloat16, both factors rounded to it. */
export const BF16_SETS: readonly (string | undefined)[] = ['amx', 'avx512bf16'];
