import { applied } from '../metadata-rule.ts';
import type { Family } from './family.ts';

const ROTATIONS = 'engine/runtime/pass/rotations.ts';

/** Ministral 3 (2025): llama with YaRN, whose queries grow with their position beyond the original context. */
export const mistral3: Family = {
  pairs: 'adjacent',
  rules: {
    'attention.temperature_scale': applied(ROTATIONS),
    'rope.scaling.yarn_log_multiplier': applied(ROTATIONS),
    'rope.scaling.yarn_beta_fast': applied(ROTATIONS),
    'rope.scaling.yarn_beta_slow': applied(ROTATIONS),
  },
};
