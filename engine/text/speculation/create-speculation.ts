import type { Speculation, SpeculativePass, VerifyingModel } from '../generate.ts';
import { createDraftLength, type DoneDraft, type DraftLength, type Offer } from './draft-length.ts';
import type { ModelDrafter } from './model-drafter.ts';
import type { PromptLookup } from './prompt-lookup.ts';
import { undelayedSeconds } from './undelayed-seconds.ts';

export interface SpeculationOptions {
  readonly model: VerifyingModel;
  /** Tokens of the text that come before the prompt, such as earlier turns of a conversation. */
  readonly earlier?: readonly number[];
  readonly lookup?: PromptLookup | undefined;
  readonly drafter?: ModelDrafter | undefined;
  /** Decides the number of tokens to draft from earlier texts with these models and this drafter. Default: from this text alone. */
  readonly length?: DraftLength;
  /** Seconds of a pass of the drafter in passes of the model, assumed until it is measured. */
  readonly drafterShare?: number;
  /** Number of tokens to draft at a time, if a source has as many; default: as many as pay (createDraftLength). */
  readonly tokens?: number | undefined;
  /** Seconds. Default: the calling thread's, without waits for a processor (undelayedSeconds). */
  readonly clock?: () => number;
}

/** Results of speculation for one text. */
export interface SpeculationFigures {
  /** Passes of the model after the prompt. */
  readonly passes: number;
  readonly drafted: number;
  readonly accepted: number;
  /** Tokens of each source: `draft`, and `lookup` by the tokens that matched. */
  readonly sources: Readonly<Record<string, { readonly drafted: number; readonly accepted: number }>>;
  /**
   * Time of the verified tokens one by one, by the passes that had one token, over the time that it took; `undefined`
   * with fewer than LEAST_VERIFIED verifications, or without such passes.
   */
  readonly gain: number | undefined;
}

export interface MeasuredSpeculation extends Speculation {
  readonly figures: SpeculationFigures;
}

/** The most tokens to draft: more are seldom accepted, and logits of all are kept. */
export const MOST_DRAFTED = 16;

/** Passes of a size differ by 10 to 20 % where others use the processor: the gain of fewer verifications is mostly chance. */
const LEAST_VERIFIED = 10;

/** The pass in progress. */
interface LastPass {
  /** Start time of the drafting work that preceded this pass. */
  readonly begun: number;
  /** Tokens that the model had before it. */
  readonly position: number;
  readonly drafted: number;
  accepted: number;
  /** Timings of the drafting work; `undefined` if none was done. Without a source, no tokens were asked for. */
  readonly times:
    | (Pick<DoneDraft, 'asked' | 'lookSeconds' | 'draftSeconds' | 'expectedDraftSeconds'> & {
        readonly source: string | undefined;
      })
    | undefined;
}

const NO_TOKENS: readonly number[] = [];

/** A way to draft now. */
interface Way extends Offer {
  readonly draft: (tokens: number) => readonly number[] | Promise<readonly number[]>;
}

export function createSpeculation(options: SpeculationOptions): MeasuredSpeculation {
  const { model, earlier = [], lookup, drafter, drafterShare = 1 } = options;
  const clock = options.clock ?? undelayedSeconds;
  const length = options.length ?? createDraftLength({ tokens: 1, seconds: 0 });
  let [passes, verified, drafted, accepted] = [0, 0, 0, 0];
  const sources: Record<string, { drafted: number; accepted: number }> = {};
  /** The last pass, which is over when the next one begins. */
  let last: LastPass | undefined;
  drafter?.begin();

  /** Lets the drafter read more of the text where that is allowed. @returns seconds */
  const readMore = async (text: readonly number[]): Promise<number> => {
    if (drafter === undefined || drafter.unread(text) === 0) return 0;
    if (options.tokens !== undefined) return drafter.isReady ? 0 : await drafter.read(text, true);
    const expected = drafter.readSeconds(text, drafterShare * length.passSeconds(1));
    if (expected > length.allowance) return 0;
    const seconds = await drafter.read(text);
    length.charge(seconds, expected);
    return seconds;
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

  const record = ({ times, drafted, accepted }: LastPass, passSeconds: number): void => {
    if (times === undefined) length.plain({ lookSeconds: 0, passSeconds });
    else if (times.source === undefined) length.plain({ ...times, passSeconds });
    else length.verified({ ...times, source: times.source, drafted, accepted, passSeconds });
  };
  /** Drafts tokens, if that may pay. */
  const draftFor = async (history: readonly number[], most: number, begun: number) => {
    const text = earlier.length === 0 ? history : [...earlier, ...history];
    const readSeconds = await readMore(text);
    const choice = choose(waysFor(text, Math.min(most, MOST_DRAFTED, options.tokens ?? MOST_DRAFTED)));
    const looked = clock();
    const lookSeconds = looked - begun - readSeconds;
    if (choice === undefined)
      return {
        tokens: NO_TOKENS,
        times: { asked: 0, lookSeconds, draftSeconds: 0, expectedDraftSeconds: 0, source: undefined },
      };
    const { tokens: asked, offer } = choice;
    const tokens = await offer.draft(asked);
    const draftSeconds = clock() - looked;
    const expectedDraftSeconds = offer.startSeconds + asked * offer.tokenSeconds;
    return { tokens, times: { asked, lookSeconds, draftSeconds, expectedDraftSeconds, source: offer.source } };
  };
  let tokens: readonly number[] = NO_TOKENS;
  let logits: Float32Array = new Float32Array();
  /** The same object for every pass: in small models a new one takes a noticeable part of it. */
  const pass: SpeculativePass = {
    get drafted() {
      return tokens;
    },
    logits(index) {
      const width = logits.length / (tokens.length + 1);
      return tokens.length === 0 ? logits : logits.subarray(index * width, (index + 1) * width);
    },
  };

  return {
    begin(prompt) {
      length.begin(prompt);
      last = undefined;
    },
    async next(history, most) {
      let begun = clock();
      if (last !== undefined) record(last, begun - last.begun);
      length.expect(most);
      tokens = NO_TOKENS;
      let times: LastPass['times'];
      if (options.tokens !== undefined || length.mayDraft) {
        ({ tokens, times } = await draftFor(history, most, begun));
        begun = clock();
      }
      last = { begun, position: model.position, drafted: tokens.length, accepted: 0, times };
      const token = history[history.length - 1] as number;
      logits = await model.verify(tokens.length === 0 ? [token] : [token, ...tokens]);
      passes += 1;
      return pass;
    },
    settle(kept) {
      const source = last?.times?.source;
      if (last === undefined || source === undefined) return;
      model.rewind(last.position + 1 + kept);
      last.accepted = kept;
      verified += 1;
      drafted += last.drafted;
      accepted += kept;
      const { drafted: earlierDrafted = 0, accepted: earlierAccepted = 0 } = sources[source] ?? {};
      sources[source] = { drafted: earlierDrafted + last.drafted, accepted: earlierAccepted + kept };
    },
    get figures() {
      return { passes, drafted, accepted, sources, gain: verified < LEAST_VERIFIED ? undefined : gainOf(length) };
    },
  };
}

function gainOf({ replacedSeconds, spentSeconds }: DraftLength): number | undefined {
  const gain = replacedSeconds / spentSeconds;
  return Number.isFinite(gain) ? gain : undefined;
}
