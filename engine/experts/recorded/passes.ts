import { InputError } from '../../input/input-error.ts';
import type { RoutedRow } from './row.ts';

/** A layer's call of its router: the experts of each token of a pass. */
export interface TracedCall {
  readonly layer: number;
  readonly tokens: readonly (readonly number[])[];
}

/**
 * The rows of passes with one token, from calls in the order in which they were made: a pass ends where a layer isn't
 * above the one before. Passes of several tokens are prompts.
 * @throws InputError if layers of a pass differ in their tokens
 */
export function passesOfCalls(calls: readonly TracedCall[], file: string): RoutedRow[] {
  const passes: TracedCall[][] = [];
  for (const call of calls) {
    const last = passes.at(-1);
    if (last !== undefined && (last.at(-1) as TracedCall).layer < call.layer) last.push(call);
    else passes.push([call]);
  }
  return passes.flatMap((pass, token) => {
    const counts = new Set(pass.map(({ tokens }) => tokens.length));
    if (counts.size > 1)
      throw new InputError(
        file,
        `has a pass, the ${token + 1}., with ${[...counts].join(' and ')} tokens in its layers`,
      );
    if (!counts.has(1)) return [];
    return pass.map(({ layer, tokens: [experts = []] }) => ({ token, layer, experts }));
  });
}
