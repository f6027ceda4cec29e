/** The experts that the routers of a mixture chose: `used` of `experts`, for every token in every layer that has some. */
export interface Routing {
  readonly tokens: number;
  /** Layers with experts. */
  readonly layers: number;
  /** N: experts of a layer. */
  readonly experts: number;
  /** k: experts that a token uses in a layer. */
  readonly used: number;
  /** Their numbers, [tokens][layers][used]; those of one token and layer differ. */
  readonly chosen: Uint16Array;
}

/** The experts of a token in a layer: a view of `used` numbers. */
export function expertsOf({ layers, used, chosen }: Routing, token: number, layer: number): Uint16Array {
  const first = (token * layers + layer) * used;
  return chosen.subarray(first, first + used);
}

/** The experts of a token in a layer, as numbers of their own. */
export function chosenBy({ layers, used, chosen }: Routing, token: number, layer: number): number[] {
  const first = (token * layers + layer) * used;
  const own: number[] = [];
  for (let index = first; index < first + used; index++) own.push(chosen[index] as number);
  return own;
}

/** Tokens that go through a mixture's layers together. */
export interface PassTokens {
  /** Texts that are continued together. */
  readonly texts: number;
  /** Successive tokens of each: more than one where drafts are verified, and in prompts. */
  readonly tokens: number;
}

export const ONE_TOKEN: PassTokens = { texts: 1, tokens: 1 };

/**
 * The experts of a layer that any token of a pass uses, in the order of their first use. Texts begin at equal distances in the
 * routing, which begins anew at its end.
 * @param from the pass's first token of each text, counted from the text's begin
 */
export function unionOf(routing: Routing, { texts, tokens }: PassTokens, from: number, layer: number): number[] {
  if (texts * tokens === 1) return chosenBy(routing, from % routing.tokens, layer);
  const union = new Set<number>();
  for (let text = 0; text < texts; text++) {
    const begin = Math.floor((text * routing.tokens) / texts) + from;
    for (let token = begin; token < begin + tokens; token++)
      for (const expert of expertsOf(routing, token % routing.tokens, layer)) union.add(expert);
  }
  return [...union];
}

/** Tokens `from` up to, not including, `to`. */
export function tokensOf(routing: Routing, from: number, to: number): Routing {
  const each = routing.layers * routing.used;
  return { ...routing, tokens: to - from, chosen: routing.chosen.subarray(from * each, to * each) };
}

/** Some layers of a routing, such as those of one device. @param layers their places among those with experts */
export function layersOf(routing: Routing, layers: readonly number[]): Routing {
  if (layers.length === routing.layers) return routing;
  const { tokens, used } = routing;
  const chosen = new Uint16Array(tokens * layers.length * used);
  for (let token = 0; token < tokens; token++)
    for (const [at, layer] of layers.entries())
      chosen.set(expertsOf(routing, token, layer), (token * layers.length + at) * used);
  return { ...routing, layers: layers.length, chosen };
}

/** Number of tokens that use each expert: [layers][experts]. */
export function usesOf(routing: Routing): Uint32Array[] {
  const { tokens, layers, experts } = routing;
  return Array.from({ length: layers }, (_, layer) => {
    const uses = new Uint32Array(experts);
    for (let token = 0; token < tokens; token++)
      for (const expert of expertsOf(routing, token, layer)) uses[expert] = (uses[expert] as number) + 1;
    return uses;
  });
}

/** The share of a token's experts that the token `lag` before it used too, in the mean over tokens and layers. */
export function overlapAt(routing: Routing, lag: number): number {
  const { tokens, layers, used } = routing;
  let common = 0;
  for (let token = lag; token < tokens; token++)
    for (let layer = 0; layer < layers; layer++) {
      const before = expertsOf(routing, token - lag, layer);
      for (const expert of expertsOf(routing, token, layer)) if (before.includes(expert)) common += 1;
    }
  return common / ((tokens - lag) * layers * used);
}

/** `48 layers, 8 of 128 experts`. */
export function routingShape({ layers, experts, used }: Pick<Routing, 'layers' | 'experts' | 'used'>): string {
  return `${layers} layers, ${used} of ${experts} experts`;
}
