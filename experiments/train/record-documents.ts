import type { Routing } from '../../engine/experts/routing.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { recordRouting } from '../../engine/runtime/load/record-routing.ts';
import { loadTokenizer } from '../../engine/text/load-tokenizer.ts';
import { firstDocuments } from './grammar/grammar.ts';
import { documentText } from './tokenizer.ts';

/**
 * The experts that a mixture uses while it reads documents that it wasn't trained on, each from its beginning, one after
 * the other.
 * @throws InputError for a model without experts
 */
export function recordDocuments(
  kernels: Kernels,
  model: string,
  { documents, seed }: { readonly documents: number; readonly seed: number },
): Routing {
  const tokenizer = loadTokenizer(withFile(model, readGguf));
  const recorded = firstDocuments(seed, 'held-out', documents).map((document): Routing => {
    const tokens = tokenizer.encode(documentText(document), { addSpecial: true, parseSpecial: true });
    const found = recordRouting({ model, kernels, tokens, together: tokens.length });
    if (found === undefined) throw new InputError(model, 'has no experts; routing is recorded of mixtures alone');
    return { ...found, tokens: tokens.length };
  });
  const [first] = recorded as [Routing];
  return {
    ...first,
    tokens: recorded.reduce((sum, { tokens }) => sum + tokens, 0),
    chosen: Uint16Array.from(recorded.flatMap(({ chosen }) => [...chosen])),
  };
}
