import type { Quantization } from '../model/quantization.ts';
import type { BlockFormat } from './block-format.ts';
import { IQ4_NL } from './blocks/iq4-nl.ts';
import { BF16, F16, F32 } from './blocks/plain.ts';
import { Q2_K } from './blocks/q2-k.ts';
import { Q3_K } from './blocks/q3-k.ts';
import { Q4_0 } from './blocks/q4-0.ts';
import { Q4_K } from './blocks/q4-k.ts';
import { Q5_0 } from './blocks/q5-0.ts';
import { Q5_1 } from './blocks/q5-1.ts';
import { Q5_K } from './blocks/q5-k.ts';
import { Q6_K } from './blocks/q6-k.ts';
import { Q8_0 } from './blocks/q8-0.ts';

/** How the blocks of every format are read and written; their sizes are in QUANTIZATIONS (engine/model). */
export const BLOCK_FORMATS: Readonly<Record<Quantization, BlockFormat>> = {
  F32,
  F16,
  BF16,
  Q8_0,
  Q4_0,
  Q5_0,
  Q5_1,
  Q2_K,
  Q3_K,
  Q4_K,
  Q5_K,
  Q6_K,
  IQ4_NL,
};
