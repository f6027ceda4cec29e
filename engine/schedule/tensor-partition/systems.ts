import { type ChipDevice, graphLengths } from '../../hardware/chip.ts';
import type { LayerOperatorName } from '../../model/operators.ts';
import type { CutKind, TensorPartition } from '../../plan/tensor-partition.ts';
import { paddedGraphs, pipedGraphs } from './graph-lists.ts';
import { publishedLengths } from './published-lengths.ts';

/**
 * How a system cuts an operator of a prompt: which kinds, over which lists of graphs (all worth trying unless given).
 */
interface PrefillRule {
  readonly kinds?: (operator: LayerOperatorName, tokens: number, device: ChipDevice) => readonly CutKind[];
  readonly lists?: (tokens: number, device: ChipDevice) => number[][];
  readonly graphs?: TensorPartition['graphs'];
}

export interface ChipSystem {
  readonly description: string;
  readonly prefill: PrefillRule;
  /** Kinds of cuts in decoding; all unless given. */
  readonly decode?: readonly CutKind[];
}

export const CHIP_SYSTEM_NAMES = [
  'hetero-tensor',
  'hetero-tensor-text',
  'hetero-layer',
  'sequence-cutting',
  'online-prepare',
  'padding',
  'pipe',
  'chunked-prefill',
  'gpu-only',
  'npu-only',
] as const;
export type ChipSystemName = (typeof CHIP_SYSTEM_NAMES)[number];

/** Tokens of a chunk: the paper gives MLLM-NPU's half of its best rate at this length (HeteroLLM 5.2.2). */
const CHUNK = 256;

const WHOLE: readonly CutKind[] = ['gpu', 'npu'];
const whole = () => WHOLE;
const onNpu = (): readonly CutKind[] => ['npu'];
const lengthsOf = ({ soc }: ChipDevice): number[] => graphLengths(soc.npu);
const piped = (tokens: number, device: ChipDevice): number[][] => [pipedGraphs(tokens, lengthsOf(device))];

/**
 * Hetero-tensor's cuts of a prompt as the text has them. Rows are cut "in these two cases" (HeteroLLM 4.1.1): where the
 * prompt is no longer than the array's tile, which takes as long for fewer tokens (3.2), and in FFN-down, the shape on
 * which NPUs are slow (5.2.1, 7); the GPU has "only a small portion" of the work (5.5). Prompts that no prepared graphs
 * add up to are cut by length, or by both (4.1.1).
 */
function cutsOfText(operator: LayerOperatorName, tokens: number, device: ChipDevice): readonly CutKind[] {
  const isShort = tokens <= device.soc.npu.tile;
  if (isShort || operator === 'down') return ['gpu', 'npu', 'row', 'sequence', 'multi-sequence', 'hybrid'];
  const isAligned = tokens % device.soc.npu.shortestGraph === 0;
  return isAligned ? WHOLE : [...WHOLE, 'sequence', 'multi-sequence', 'hybrid'];
}

/** HeteroLLM and what it is compared with (5.2.2). The NPU-only ones decode as Hetero-layer does. */
export const CHIP_SYSTEMS: Readonly<Record<ChipSystemName, ChipSystem>> = {
  'hetero-tensor': { description: 'every operator cut between GPU and NPU in the fastest way', prefill: {} },
  'hetero-tensor-text': {
    description: 'rows cut in short prompts and in FFN-down alone, as HeteroLLM’s text has it',
    prefill: { kinds: cutsOfText },
  },
  'hetero-layer': {
    description: 'every operator whole, on the GPU or on the NPU',
    prefill: { kinds: whole, lists: piped },
    decode: WHOLE,
  },
  'sequence-cutting': {
    description: 'all operators cut by sequence length alone, as the examples of 4.1.1',
    prefill: {
      kinds: () => ['npu', 'sequence', 'multi-sequence', 'gpu'],
      lists: (tokens, device) => [publishedLengths(tokens, lengthsOf(device))].filter(({ length }) => length > 0),
    },
  },
  'online-prepare': {
    description: 'NPU, a graph of the prompt’s length generated when the prompt comes',
    prefill: { kinds: onNpu, lists: (tokens) => [[tokens]], graphs: 'online' },
    decode: WHOLE,
  },
  padding: {
    description: 'NPU, the prompt padded to a prepared graph',
    prefill: { kinds: onNpu, lists: (tokens, device) => [paddedGraphs(tokens, lengthsOf(device))] },
    decode: WHOLE,
  },
  pipe: {
    description: 'NPU, several prepared graphs one after the other',
    prefill: { kinds: onNpu, lists: piped },
    decode: WHOLE,
  },
  'chunked-prefill': {
    description: `NPU, the prompt in chunks of ${CHUNK} tokens, the last padded (MLLM-NPU)`,
    prefill: {
      kinds: onNpu,
      lists: (tokens, device) => {
        const chunk = Math.min(CHUNK, lengthsOf(device)[0] as number);
        return [new Array<number>(Math.ceil(tokens / chunk)).fill(chunk)];
      },
    },
    decode: WHOLE,
  },
  'gpu-only': { description: 'GPU alone (PPL-OpenCL)', prefill: { kinds: () => ['gpu'] }, decode: ['gpu'] },
  'npu-only': {
    description: 'NPU alone, decoding as well',
    prefill: { kinds: onNpu, lists: piped },
    decode: ['npu'],
  },
};
