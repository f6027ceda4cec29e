import type { Routing } from '../../experts/routing.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import { chosenExperts, observedRoutes, type RouteObserver } from '../observed/observed-routes.ts';
import { loadTransformer } from './load-transformer.ts';

export interface TextToRoute {
  readonly model: string;
  /** On a CPU. */
  readonly kernels: Kernels;
  readonly tokens: readonly number[];
  /** Tokens that are evaluated at once. */
  readonly together: number;
  readonly onTokens?: (done: number) => void;
}

/** A model's choices of experts while it reads a text. */
export interface RecordedRouting {
  readonly layers: number;
  readonly experts: number;
  readonly used: number;
  /** [tokens][layers][used] */
  readonly chosen: Uint16Array;
}

/**
 * Runs a mixture of experts over a text and records which experts each token uses.
 * @returns `undefined` for a model without experts
 * @throws InputError as loadTransformer does
 */
export function recordRouting({
  model,
  kernels,
  tokens,
  together,
  onTokens,
}: TextToRoute): RecordedRouting | undefined {
  const byPass: Uint16Array[][] = [];
  let shape: Omit<RecordedRouting, 'chosen' | 'layers'> | undefined;
  const observed = observedRoutes(kernels, (route) => {
    shape ??= { experts: route.router.experts, used: route.router.used };
    byPass.at(-1)?.push(chosenExperts(route));
  });
  const transformer = loadTransformer(model, { kernels: observed, context: tokens.length });
  for (let from = 0; from < tokens.length; from += together) {
    byPass.push([]);
    transformer.evaluate(tokens.slice(from, from + together));
    onTokens?.(Math.min(tokens.length, from + together));
  }
  if (shape === undefined) return undefined;
  const layers = (byPass[0] as Uint16Array[]).length;
  const { used } = shape;
  const chosen = new Uint16Array(tokens.length * layers * used);
  for (const [pass, ofLayers] of byPass.entries())
    for (const [layer, experts] of ofLayers.entries())
      for (let token = 0; token < experts.length / used; token++) {
        const place = ((pass * together + token) * layers + layer) * used;
        chosen.set(experts.subarray(token * used, (token + 1) * used), place);
      }
  return { ...shape, layers, chosen };
}

/** The experts that tokens use while a text is written. */
export interface ChoiceRecorder {
  /** For `observedRoutes`. Passes of several tokens, prompts and drafts, are left out. */
  readonly observe: RouteObserver;
  /** The routing recorded so far; `undefined` if no token was decoded. */
  routing(): Routing | undefined;
}

/** @param layers the model's layers with experts */
export function createChoiceRecorder(layers: number): ChoiceRecorder {
  const choices: Uint16Array[] = [];
  let shape = { experts: 0, used: 0 };
  return {
    observe(route) {
      const chosen = chosenExperts(route);
      if (chosen.length !== route.router.used) return;
      shape = route.router;
      choices.push(chosen);
    },
    routing() {
      const tokens = Math.floor(choices.length / layers);
      if (tokens === 0) return undefined;
      const { experts, used } = shape;
      const chosen = new Uint16Array(tokens * layers * used);
      for (const [index, one] of choices.slice(0, tokens * layers).entries()) chosen.set(one, index * used);
      return { tokens, layers, experts, used, chosen };
    },
  };
}
