import { deepseek2 } from './deepseek2.ts';
import type { Family, Mixture } from './family.ts';
import { gemma3 } from './gemma3.ts';
import { gemma4 } from './gemma4.ts';
import { glm4moe } from './glm4moe.ts';
import { gptOss } from './gpt-oss.ts';
import { granite } from './granite.ts';
import { granitehybrid } from './granitehybrid.ts';
import { lfm2 } from './lfm2.ts';
import { mistral3 } from './mistral3.ts';
import { nemotronH } from './nemotron-h.ts';
import { phi3 } from './phi3.ts';
import { qwen3next, qwen35 } from './qwen3next.ts';
import { smollm3 } from './smollm3.ts';

/** Experts whose width is the file's only one (Mixtral). */
const MIXTRAL: Mixture = { size: 'feed_forward_length', scores: 'softmax', normalised: true };
/** Many small experts (Qwen3). */
const FINE: Mixture = { size: 'expert_feed_forward_length', scores: 'softmax', normalised: true };

/** The architectures that can be run, by the name in a file's metadata. */
export const FAMILIES: Readonly<Record<string, Family>> = {
  // Converters reorder the rows of llama and internlm2 so that pairs are adjacent.
  llama: { pairs: 'adjacent', mixture: MIXTRAL },
  qwen2: { pairs: 'halves' },
  qwen2moe: { pairs: 'halves', mixture: { ...FINE, normalised: false, shared: 'gated' } },
  qwen3: { pairs: 'halves', norms: 'heads' },
  qwen3moe: { pairs: 'halves', norms: 'heads', mixture: FINE },
  internlm2: { pairs: 'adjacent', untied: true },
  olmoe: { pairs: 'halves', norms: 'all-heads', mixture: { ...MIXTRAL, normalised: false } },
  'ernie4_5-moe': { pairs: 'adjacent', mixture: { ...FINE, shared: 'plain' } },
  'hunyuan-moe': { pairs: 'halves', norms: 'heads-after-rotation', mixture: { ...MIXTRAL, shared: 'plain' } },
  'minimax-m2': { pairs: 'halves', norms: 'all-heads', mixture: { ...MIXTRAL, scores: 'sigmoid', fromFile: true } },
  deepseek2,
  gemma3,
  gemma4,
  glm4moe,
  'gpt-oss': gptOss,
  granite,
  granitehybrid,
  granitemoe: { ...granite, mixture: { ...MIXTRAL, shared: 'plain' } },
  lfm2,
  lfm2moe: lfm2,
  mistral3,
  nemotron_h: nemotronH,
  nemotron_h_moe: nemotronH,
  phi3,
  qwen3next,
  qwen35,
  qwen35moe: qwen35,
  smollm3,
};

/** @throws RangeError for an architecture that modelFromGguf refuses */
export function familyOf(architecture: string): Family {
  const family = Object.hasOwn(FAMILIES, architecture) ? FAMILIES[architecture] : undefined;
  if (family === undefined) throw new RangeError(`there is no architecture ${architecture}`);
  return family;
}
