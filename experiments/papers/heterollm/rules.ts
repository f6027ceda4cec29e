import { ALIGNED, HEADLINES } from './rules/aligned.ts';
import { DECODING } from './rules/decoding.ts';
import { ENERGY } from './rules/energy.ts';
import { INTERFERENCE } from './rules/interference.ts';
import { MISALIGNED } from './rules/misaligned.ts';
import { ORDER } from './rules/order.ts';
import type { FigureGroup } from './rules/rule.ts';
import { SYNCHRONISATION } from './rules/synchronisation.ts';

/** Every figure of the paper that is reproduced, table by table. */
export const HETEROLLM_FIGURES: readonly FigureGroup[] = [
  ORDER,
  DECODING,
  HEADLINES,
  ALIGNED,
  MISALIGNED,
  SYNCHRONISATION,
  INTERFERENCE,
  ENERGY,
];
