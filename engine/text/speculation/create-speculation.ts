import type { Speculation, VerifyingModel } from '../generate.ts';
import { createDraftLength, type DoneDraft, type DraftLength, type Offer } from './draft-length.ts';
import type { ModelDrafter } from './model-drafter.ts';
import type { PromptLookup } from './prompt-lookup.ts';

export interface SpeculationOptions {
  readonly model: VerifyingModel;
  /** Tokens of the text that come before the prompt, such as earlier turns of a conversation. */
  readonly earlier?: readonly number[];
  readonly lookup?: PromptLookup | undefined;
  readonly drafter?: ModelDrafter | undefined;
  /** Seconds of a pass of the drafter in passes of the model, assumed until it is measured. */
  readonly drafterShare?: number;
  /** Tokens to draft at a time, where there are so many; default: as many as pay (createDraftLength). */
  readonly tokens?: number | undefined;
  /** Seconds. Default: the process's clock. */
  readonly clock?: () => number;
}

/** What came of it. */
export interface SpeculationFigures {
  /** Passes of the model after the prompt. */
  readonly passes: number;
  readonly drafted: number;
  readonly accepted: number;
  /** Those of each source: `draft`, and `lookup` by the tokens that matched. */
  readonly sources: Readonly<Record<string, { readonly drafted: number; readonly accepted: number }>>;
  /**
   * Time of the verified tokens one by one, by the passes that had one token, over the time that it took; `undefined`
   * without verifications, or without such passes.
   */
  readonly gain: number | undefined;
}

export interface MeasuredSpeculation extends Speculation {
  readonly figures: SpeculationFigures;
}

/** The most tokens to draft: more are seldom accepted, and logits of all are kept. */
export const MOST_DRAFTED = 16;

/** A way to draft now. */
interface Way extends Offer {
  readonly draft: (tokens: number) => readonly number[] | Promise<readonly number[]>;
}

export function createSpeculation(options: SpeculationOptions): MeasuredSpeculation {
  const { model, earlier = [], lookup, drafter, drafterShare = 1 } = options;
  const clock = options.clock ?? (() => performance.now() / 1000);
  let length = createDraftLength({ tokens: 1, seconds: 0 });
  let [passes, drafted, accepted] = [0, 0, 0];
  const sources: Record<string, { drafted: number; accepted: number }> = {};
  /** The pass that isn't settled. */
  let last: Omit<DoneDraft, 'accepted'> | undefined;
  let lastPosition = 0;
  drafter?.begin();

  /** Lets the drafter read more of the text where that is allowed. */
  const readMore = async (text: readonly number[]): Promise<void> => {
    if (drafter === undefined || drafter.unread(text) === 0) return;
    if (options.tokens !== undefined) {
      if (!drafter.isReady) await drafter.read(text, true);
      return;
    }
    const seconds = drafter.readSeconds(text, drafterShare * length.passSeconds(1));
    if (seconds <= length.allowance) length.charge(await drafter.read(text));
  };
  const waysFor = (text: readonly number[], most: number): Way[] => {
    if (most < 1) return [];
    const ways: Way[] = [];
    const found = lookup?.find(text, most);
    if (found !== undefined && found.tokens.length > 0)
      ways.push({
        source: `lookup ${found.matched}`,
        most: found.tokens.length,
        startSeconds: 0,
        tokenSeconds: 0,
        draft: (tokens) => found.tokens.slice(0, tokens),
      });
    if (drafter?.isReady)
      ways.push({
        source: 'draft',
        most,
        ...drafter.offer(text),
        draft: (tokens) => drafter.draft(text, tokens),
      });
    return ways;
  };
  const choose = (ways: readonly Way[]) => {
    if (options.tokens === undefined) return length.choose(ways);
    const [offer] = ways;
    return offer && { offer, tokens: Math.min(options.tokens, offer.most) };
  };

  return {
    begin(prompt) {
      length = createDraftLength(prompt);
    },
    async next(history, most) {
      const text = earlier.length === 0 ? history : [...earlier, ...history];
      await readMore(text);
      const choice = choose(waysFor(text, Math.min(most, MOST_DRAFTED, options.tokens ?? MOST_DRAFTED)));
      const begin = clock();
      const tokens = choice === undefined ? [] : await choice.offer.draft(choice.tokens);
      const drawn = clock();
      lastPosition = model.position;
      const logits = await model.verify([...history.slice(-1), ...tokens]);
      const passSeconds = clock() - drawn;
      passes += 1;
      last = undefined;
      if (choice === undefined) length.plain(passSeconds);
      else last = { source: choice.offer.source, drafted: tokens.length, draftSeconds: drawn - begin, passSeconds };
      const width = logits.length / (tokens.length + 1);
      return { drafted: tokens, logits: (index) => logits.subarray(index * width, (index + 1) * width) };
    },
    settle(kept) {
      if (last === undefined) return;
      model.rewind(lastPosition + 1 + kept);
      length.verified({ ...last, accepted: kept });
      drafted += last.drafted;
      accepted += kept;
      const { drafted: earlierDrafted = 0, accepted: earlierAccepted = 0 } = sources[last.source] ?? {};
      sources[last.source] = { drafted: earlierDrafted + last.drafted, accepted: earlierAccepted + kept };
      last = undefined;
    },
    get figures() {
      return { passes, drafted, accepted, sources, gain: gainOf(length) };
    },
  };
}

function gainOf({ replacedSeconds, spentSeconds }: DraftLength): number | undefined {
  const gain = replacedSeconds / spentSeconds;
  return Number.isFinite(gain) ? gain : undefined;
}
