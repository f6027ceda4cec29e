import type { Mix } from '../model/mix.ts';
import {
  QUANTIZATION_NAMES,
  QUANTIZATIONS,
  type Quantization,
  type QuantizationFormat,
} from '../model/quantization.ts';
import type { Gguf } from './gguf.ts';

/**
 * Numbers of llama.cpp's mixes in `general.file_type` (llama_ftype); files of one format have theirs in QUANTIZATIONS.
 */
const MIX_FILE_TYPES: readonly (readonly [number, string])[] = [
  [11, 'Q3_K_S'],
  [12, 'Q3_K_M'],
  [13, 'Q3_K_L'],
  [14, 'Q4_K_S'],
  [15, 'Q4_K_M'],
  [16, 'Q5_K_S'],
  [17, 'Q5_K_M'],
  [21, 'Q2_K_S'],
  [22, 'IQ3_XS'],
  [27, 'IQ3_M'],
  [29, 'IQ2_M'],
  [38, 'MXFP4_MOE'],
];

const FILE_TYPES: ReadonlyMap<number, string> = new Map([
  ...MIX_FILE_TYPES,
  ...QUANTIZATION_NAMES.flatMap((name) => {
    const { fileType }: QuantizationFormat = QUANTIZATIONS[name];
    return fileType === undefined ? [] : [[fileType, name] as const];
  }),
]);

/** The number for `general.file_type`, or undefined where llama.cpp has no name for the mix. */
export function fileTypeNumber(mix: Mix | Quantization): number | undefined {
  return [...FILE_TYPES].find(([, name]) => name === mix)?.[0];
}

/** The mix that the file names in its metadata, or else the format that holds most of its bytes. */
export function fileMix({ metadata, tensors }: Gguf): string {
  const number = metadata.get('general.file_type')?.value;
  const named = typeof number === 'number' ? FILE_TYPES.get(number) : undefined;
  if (named !== undefined) return named;
  const bytes = new Map<Quantization, number>();
  for (const tensor of tensors) bytes.set(tensor.type, (bytes.get(tensor.type) ?? 0) + tensor.bytes);
  const [most] = [...bytes].sort((a, b) => b[1] - a[1]);
  return most?.[0] ?? 'none';
}
