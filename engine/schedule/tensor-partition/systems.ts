import { type ChipDevice, graphLengths } from '../../hardware/chip.ts';
import type { CutKind, TensorPartition } from '../../plan/tensor-partition.ts';
import { paddedGraphs, pipedGraphs } from './graph-lists.ts';
import { publishedLengths } from './published-lengths.ts';

/**
 * How a system cuts an operator of a prompt: which kinds, over which lists of graphs (all worth trying unless given).
 */
interface PrefillRule {
  readonly kinds?: readonly CutKind[];
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
const lengthsOf = ({ soc }: ChipDevice): number[] => graphLengths(soc.npu);
const piped = (tokens: number, device: ChipDevice): number[][] => [pipedGraphs(tokens, lengthsOf(device))];

/** HeteroLLM and what it is compared with (5.2.2). The NPU-only ones decode as Hetero-layer does. */
export const CHIP_SYSTEMS: Readonly<Record<ChipSystemName, ChipSystem>> = {
  'hetero-tensor': { description: 'every operator cut between GPU and NPU in the fastest way', prefill: {} },
  'hetero-layer': {
    description: 'every operator whole, on the GPU or on the NPU',
    prefill: { kinds: WHOLE, lists: piped },
    decode: WHOLE,
  },
  'sequence-cutting': {
    description: 'all operators cut by sequence length alone, as the examples of 4.1.1',
    prefill: {
      kinds: ['npu', 'sequence', 'multi-sequence', 'gpu'],
      lists: (tokens, device) => [publishedLengths(tokens, lengthsOf(device))].filter(({ length }) => length > 0),
    },
  },
  'online-prepare': {
    description: 'NPU, a graph of the prompt’s length generated when the prompt comes',
    prefill: { kinds: ['npu'], lists: (tokens) => [[tokens]], graphs: 'online' },
    decode: WHOLE,
  },
  padding: {
    description: 'NPU, the prompt padded to a prepared graph',
    prefill: { kinds: ['npu'], lists: (tokens, device) => [paddedGraphs(tokens, lengthsOf(device))] },
    decode: WHOLE,
  },
  pipe: {
    description: 'NPU, several prepared graphs one after the other',
    prefill: { kinds: ['npu'], lists: piped },
    decode: WHOLE,
  },
  'chunked-prefill': {
    description: `NPU, the prompt in chunks of ${CHUNK} tokens, the last padded (MLLM-NPU)`,
    prefill: {
      kinds: ['npu'],
      lists: (tokens, device) => {
        const chunk = Math.min(CHUNK, lengthsOf(device)[0] as number);
        return [new Array<number>(Math.ceil(tokens / chunk)).fill(chunk)];
      },
    },
    decode: WHOLE,
  },
  'gpu-only': { description: 'GPU alone (PPL-OpenCL)', prefill: { kinds: ['gpu'] }, decode: ['gpu'] },
  'npu-only': {
    description: 'NPU alone, decoding as well',
    prefill: { kinds: ['npu'], lists: piped },
    decode: ['npu'],
  },
};
