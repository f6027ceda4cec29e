import type { Mix } from '../model/mix.ts';
import type { Quantization } from '../model/quantization.ts';
import type { Gguf } from './gguf.ts';

/** Names of whole files by their number in `general.file_type` (llama.cpp, llama_ftype), as far as supported formats go. */
const FILE_TYPES: Readonly<Record<number, string>> = {
  0: 'F32',
  1: 'F16',
  2: 'Q4_0',
  7: 'Q8_0',
  8: 'Q5_0',
  9: 'Q5_1',
  10: 'Q2_K',
  11: 'Q3_K_S',
  12: 'Q3_K_M',
  13: 'Q3_K_L',
  14: 'Q4_K_S',
  15: 'Q4_K_M',
  16: 'Q5_K_S',
  17: 'Q5_K_M',
  18: 'Q6_K',
  25: 'IQ4_NL',
  32: 'BF16',
};

/** The number for `general.file_type`, or undefined where llama.cpp has no name for the mix. */
export function fileTypeNumber(mix: Mix | Quantization): number | undefined {
  const found = Object.entries(FILE_TYPES).find(([, name]) => name === mix);
  return found === undefined ? undefined : Number(found[0]);
}

/** What the file calls its mix of formats, or else the format that holds most of its bytes. */
export function fileMix({ metadata, tensors }: Gguf): string {
  const number = metadata.get('general.file_type')?.value;
  const named = typeof number === 'number' ? FILE_TYPES[number] : undefined;
  if (named !== undefined) return named;
  const bytes = new Map<Quantization, number>();
  for (const tensor of tensors) bytes.set(tensor.type, (bytes.get(tensor.type) ?? 0) + tensor.bytes);
  const [most] = [...bytes].sort((a, b) => b[1] - a[1]);
  return most?.[0] ?? 'none';
}
