import type { Routing } from '../../engine/experts/routing.ts';
import { type KernelOptions, openKernels } from '../../engine/kernels/open-kernels.ts';
import { recordRouting } from '../../engine/runtime/load/record-routing.ts';
import { drawnTokens } from './measure-ring.ts';

/** Tokens that are evaluated at once while their experts are recorded. */
const TOGETHER = 32;

/**
 * The experts that the tokens of a measurement use, which prediction and simulation need: recorded in a run on this machine's
 * CPU alone. @returns `undefined` for a model without experts
 */
export function routingOf(
  asked: {
    readonly modelFile: string;
    readonly promptTokens: number;
    readonly outputTokens: number;
    readonly model: { readonly vocabularySize: number };
  },
  options: KernelOptions,
): Routing | undefined {
  const kernels = openKernels(options);
  try {
    const tokens = drawnTokens(asked, asked.model.vocabularySize);
    const recorded = recordRouting({ model: asked.modelFile, kernels, tokens, together: TOGETHER });
    return recorded && { ...recorded, tokens: tokens.length };
  } finally {
    kernels.close();
  }
}
