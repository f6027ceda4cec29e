import type { Family } from './family.ts';
import { gemma3 } from './gemma3.ts';
import { granite } from './granite.ts';
import { mistral3 } from './mistral3.ts';
import { phi3 } from './phi3.ts';
import { smollm3 } from './smollm3.ts';

/** The architectures that can be run, by the name in a file's metadata. */
export const FAMILIES: Readonly<Record<string, Family>> = {
  // Converters reorder the rows of llama and internlm2 so that pairs are adjacent.
  llama: { pairs: 'adjacent' },
  qwen2: { pairs: 'halves' },
  qwen3: { pairs: 'halves', headNorms: true },
  internlm2: { pairs: 'adjacent', untied: true },
  gemma3,
  granite,
  mistral3,
  phi3,
  smollm3,
};

/** @throws RangeError for an architecture that modelFromGguf refuses */
export function familyOf(architecture: string): Family {
  const family = Object.hasOwn(FAMILIES, architecture) ? FAMILIES[architecture] : undefined;
  if (family === undefined) throw new RangeError(`there is no architecture ${architecture}`);
  return family;
}
