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

/**
 * Mixes that mainly have these formats, for formats that have no number of their own in llama.cpp: the mix's number says
 * which format most tensors have, and `llama-quantize --pure` writes it too.
 */
const MIXES_OF_FORMATS: Partial<Record<string, string>> = {
  Q3_K: 'Q3_K_S',
  Q4_K: 'Q4_K_S',
  Q5_K: 'Q5_K_S',
  MXFP4: 'MXFP4_MOE',
};

/** The number for `general.file_type`, or undefined where llama.cpp has no name for the mix. */
export function fileTypeNumber(mix: Mix | Quantization): number | undefined {
  const wanted = MIXES_OF_FORMATS[mix] ?? mix;
  return [...FILE_TYPES].find(([, name]) => name === wanted)?.[0];
}

/**
 * The mix that the file names in its metadata, unless all of its matrices have the one format that the mix is mainly of;
 * without a name, the format that holds most of its bytes.
 */
export function fileMix({ metadata, tensors }: Gguf): string {
  const number = metadata.get('general.file_type')?.value;
  const named = typeof number === 'number' ? FILE_TYPES.get(number) : undefined;
  const formats = new Set(tensors.filter(({ shape }) => shape.length > 1).map(({ type }) => type));
  const [format] = formats;
  if (format !== undefined && formats.size === 1 && MIXES_OF_FORMATS[format] === named) return format;
  if (named !== undefined) return named;
  const bytes = new Map<Quantization, number>();
  for (const tensor of tensors) bytes.set(tensor.type, (bytes.get(tensor.type) ?? 0) + tensor.bytes);
  const [most] = [...bytes].sort((a, b) => b[1] - a[1]);
  return most?.[0] ?? 'none';
}
