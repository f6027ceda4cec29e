import { setImmediate } from 'node:timers/promises';
import type { Sampler } from '../../text/sampling/sampler.ts';
import { createModelDrafter, type DraftingModel, type ModelDrafter } from '../../text/speculation/model-drafter.ts';
import { createPassCosts } from '../../text/speculation/pass-costs.ts';
import type { Text, Texts, TextWork } from '../texts/texts.ts';

/** A small model that guesses at the tokens of several texts. */
export interface DraftModel {
  /**
   * Opens a drafter for a text; its readings and drafts must be work of `together`.
   * @returns `undefined` if there is no room for it next to the others
   */
  open(sampler: () => Sampler): TextDrafter | undefined;
  /** Does work of several drafters, whose tokens go through the model together. One alone writes greedily in one call. */
  together<Result>(work: readonly (() => Promise<Result>)[]): Promise<Result[]>;
}

export interface TextDrafter extends ModelDrafter {
  /** Gives its memory back. It must not be used afterwards. */
  close(): void;
}

export interface DraftModelOptions {
  /** Texts of the small model, used for it alone. */
  readonly texts: Texts;
  /** Tokens of the vocabulary that both models have. */
  readonly vocabularySize: number;
  /** Tokens that end a text. */
  readonly stops: ReadonlySet<number>;
  /** Seconds. */
  readonly clock: () => number;
}

/** Tokens of the passes by which costs are known before a text begins, the first ones unmeasured. */
const MEASURED_TOKENS = [16, 1, 16, 1, 16, 1, 16, 1];
const WARMING = 2;

/** Tokens that wait for a pass. */
interface Waiting extends TextWork {
  readonly resolve: (logits: Float32Array) => void;
  readonly reject: (error: unknown) => void;
}

/** Measures a few passes. */
export async function createDraftModel(options: DraftModelOptions): Promise<DraftModel> {
  const { texts, vocabularySize, stops, clock } = options;
  const { mostTokens } = texts;
  // A text, or the end of it, is read in one pass.
  const contextLength = Math.min(texts.contextLength, mostTokens);
  const costs = createPassCosts();
  let active = 0;
  let waiting: Waiting[] = [];

  /** A pass, once all active drafters have asked for one. Its results are valid until they ask again. */
  const passIfAllWait = (): void => {
    if (waiting.length === 0 || waiting.length < active) return;
    const asked = waiting;
    waiting = [];
    const groups = groupsOf(asked, mostTokens);
    for (const group of groups) {
      try {
        const found = texts.evaluate(group);
        const kept = groups.length === 1 ? found : found.slice();
        const width = kept.length / group.length;
        for (const [index, { resolve }] of group.entries()) resolve(kept.subarray(index * width, (index + 1) * width));
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
  };
  const evaluate = (text: Text, tokens: readonly number[]): Promise<Float32Array> =>
    new Promise((resolve, reject) => {
      waiting.push({ text, tokens, resolve, reject });
      passIfAllWait();
    });
  const modelOf = (text: Text): DraftingModel => ({
    contextLength,
    get position() {
      return text.position;
    },
    rewind: text.rewind,
    evaluate: (tokens) => evaluate(text, tokens),
    writeGreedily: (tokens, asked) => (active === 1 ? text.writeGreedily(tokens, asked) : undefined),
  });
  const together = async <Result>(work: readonly (() => Promise<Result>)[]): Promise<Result[]> => {
    active = work.length;
    const done = await Promise.allSettled(
      work.map(async (one) => {
        try {
          return await one();
        } finally {
          active -= 1;
          passIfAllWait();
        }
      }),
    );
    return done.map((one) => {
      if (one.status === 'rejected') throw one.reason;
      return one.value;
    });
  };

  const measured = texts.open();
  for (const [index, tokens] of MEASURED_TOKENS.entries()) {
    if (measured === undefined || tokens > contextLength) continue;
    measured.rewind(0);
    const start = clock();
    texts.evaluate([{ text: measured, tokens: new Array(tokens).fill(0) }]);
    if (index >= WARMING) costs.add(tokens, clock() - start);
    await setImmediate();
  }
  measured?.close();

  return {
    open(sampler) {
      const text = texts.open();
      if (text === undefined) return undefined;
      const drafter = createModelDrafter({ model: modelOf(text), sampler, vocabularySize, stops, costs, clock });
      return Object.assign(drafter, { close: text.close });
    },
    together,
  };
}

/** Parts of a pass that has at most this many tokens; each has at least one work. */
function groupsOf(all: readonly Waiting[], mostTokens: number): Waiting[][] {
  const groups: Waiting[][] = [];
  let room = 0;
  for (const one of all) {
    if (one.tokens.length > room) {
      groups.push([]);
      room = mostTokens;
    }
    groups.at(-1)?.push(one);
    room -= one.tokens.length;
  }
  return groups;
}
