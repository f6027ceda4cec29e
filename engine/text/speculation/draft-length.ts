import { createDraftEstimate, type DraftEstimate, type VerifiedDraft } from './draft-estimate.ts';
import { ASSUMED_SHARE, createPassCosts } from './pass-costs.ts';

/** Tokens that a source can draft now. */
export interface Offer {
  /** Sources have an acceptance rate each. */
  readonly source: string;
  /** The most tokens, at least one. */
  readonly most: number;
  /** Seconds before the first token. */
  readonly startSeconds: number;
  /** Seconds of each token. */
  readonly tokenSeconds: number;
}

export interface Choice<Offered extends Offer> {
  readonly offer: Offered;
  readonly tokens: number;
}

/**
 * A pass that was carried out, and what was done until the next one began: choosing tokens, showing them, forgetting
 * what was wrong. In small models that is a noticeable part of it.
 */
export interface DonePass {
  /** Seconds of looking for possible drafts. */
  readonly lookSeconds: number;
  readonly passSeconds: number;
}

/** One for which tokens were asked of a source. */
export interface DoneDraft extends DonePass, VerifiedDraft {
  readonly source: string;
  readonly draftSeconds: number;
  /** By the source's offer. */
  readonly expectedDraftSeconds: number;
}

/**
 * Number of tokens to draft: as many as pay, by what was accepted and what passes cost so far, in this and earlier
 * texts.
 */
export interface DraftLength {
  /** Another text begins. What was learned stays. */
  begin(prompt: PromptTime): void;
  /** Says how many tokens are still wanted: a part of what they may lose can be spent before they come. */
  expect(tokens: number): void;
  /** Takes passes into account that were measured apart from the texts. */
  know(pass: PromptTime): void;
  /** Whether to look at what could be drafted; otherwise the next pass is one of a single token. */
  readonly mayDraft: boolean;
  /** `undefined`: a pass of a single token. */
  choose<Offered extends Offer>(offers: readonly Offered[]): Choice<Offered> | undefined;
  /** Records a pass without drafted tokens. */
  plain(pass: DonePass): void;
  /** Records a verification. */
  verified(pass: DoneDraft): void;
  /** Adds seconds that a source took apart from its drafts, and those that were expected. */
  charge(seconds: number, expected: number): void;
  /** Expected seconds of a pass of this many tokens; NaN before one of a single token. */
  passSeconds(tokens: number): number;
  /** Seconds that drafting may cost now within what a text may lose. */
  readonly allowance: number;
  /** Seconds that the tokens of this text's verifications would have taken one by one, by the passes of one token. */
  readonly replacedSeconds: number;
  /** Seconds that its drafts and verifications took. */
  readonly spentSeconds: number;
}

/**
 * Most that all drafts together may lose, as a share of the time without them. The promise is 3 %; the rest is for
 * errors of measurement.
 */
export const LOSS_SHARE = 0.02;

/** Passes with drafts after which one without is due: c(1) grows with the context. */
const PASSES_BETWEEN_PLAIN = 48;

/** Tokens between attempts at text that hasn't been accepted; doubled after each that fails. */
export const PROBES = { first: 8, last: 256 };

/**
 * Tokens of an attempt, unless the one before failed or it can't be afforded. A single one would say little of longer
 * drafts: reading the text and the first pass of a size take as long as it is worth.
 */
export const PROBE_TOKENS = 4;

/**
 * Loss budget carried from one text to the next, in single-token passes. A new text starts with what earlier ones saved
 * or overspent, at most this much either way. The first draft of a short text needs it: its own share comes too late.
 */
const CARRIED_PASSES = 8;

/**
 * Part of the promise that may be spent ahead: this share of the time of the tokens that are still wanted, as far as a
 * text that ends early hardly notices it. Otherwise the first draft of a text of a hundred tokens comes at its end.
 */
const AHEAD_SHARE = 0.01;
const MOST_AHEAD_PASSES = 4;

/** Share of the time that looks may take which find nothing worth drafting. */
const LOOK_SHARE = LOSS_SHARE / 4;

/**
 * Most that the texts of a process may lose together beyond their shares: in a model whose passes take a tenth of a
 * millisecond, code that runs for the first time takes longer than what a short text may lose.
 */
export const LEARNING_SECONDS = 5e-3;

/** Verifications of a size that aren't typical: their operations are put together and prepared. */
const WARMING = 2;

/** Number of single-token passes that the running mean covers: each counts as one part in this many. */
const MEAN_PASSES = 64;

/** Times that a token takes in a verification, as if it were alone, over its time in a prompt: assumed. */
const SINGLY = 3;

/** A pass without drafts: a prompt, which is part of a text's time, for one. */
export interface PromptTime {
  readonly tokens: number;
  readonly seconds: number;
}

/** A pass that took longer than this many times what was expected was interrupted by others. */
const INTERRUPTED = 2;

/**
 * Asks for γ tokens where (1 − α^(γ+1))/(1 − α)/(γ·d + c(γ+1)), the tokens per second (Leviathan et al. 2023, Theorem
 * 3.8), is largest, with α by source and c(t) as measured; of a source that stops where it isn't sure, with the means
 * over what it drafts (`speculativeSeconds`). What it may lose is bounded whatever α is: no draft is made
 * whose rejection as a whole would bring the time above 1 + LOSS_SHARE of that without drafts, and AHEAD_SHARE of what
 * is still to come. Where none pays, a few tokens are tried now and then, within the same bound. All that a pass takes
 * counts, so that looking for drafts is bounded too: after looks that found none worth making there is a pause. A text
 * begins with what earlier ones gained, up to CARRIED_PASSES: the bound is that of all texts together. Until
 * verifications are measured, the prompt tells what further tokens of a pass cost; in the first tokens of a text the
 * bound is as good as that.
 * @param learningSeconds what texts may lose beyond their shares, all together
 */
export function createDraftLength(first: PromptTime, learningSeconds = 0): DraftLength {
  let prompt = first;
  const costs = createPassCosts((one) => {
    const inPrompt = prompt.tokens > 1 ? Math.max(0, prompt.seconds - one) / (prompt.tokens - 1) : one;
    return Math.min(ASSUMED_SHARE * one, SINGLY * inPrompt);
  });
  const estimates = new Map<string, DraftEstimate>();
  /** Verifications by their size. */
  const sizes = new Map<number, number>();
  let plainSeconds = prompt.seconds;
  let [replaced, spent, carried, wanted] = [0, 0, 0, 0];
  /** Mean seconds of passes of one token. The recent median is larger when drafts seem to pay: it would favour them. */
  let [mean, meanPasses] = [Number.NaN, 0];
  const addToMean = (seconds: number): void => {
    meanPasses = Math.min(MEAN_PASSES, meanPasses + 1);
    mean = meanPasses === 1 ? seconds : mean + (seconds - mean) / meanPasses;
  };
  const single = (): number => Math.min(mean, costs.seconds(1));
  /** Verifications since a pass of one token, and tokens since a verification. */
  let [since, untried] = [0, PROBES.first];
  let interval = PROBES.first;
  /** Seconds of looks; passes since the last one, if it found nothing. */
  const looks = createPassCosts();
  let unlooked = Number.POSITIVE_INFINITY;
  const lookSeconds = (): number => (looks.isKnown ? looks.seconds(1) : 0);

  const look = (seconds: number): void => {
    if (seconds === 0) return;
    looks.add(1, seconds);
    spent += Math.min(seconds, INTERRUPTED * looks.seconds(1));
  };
  const estimateOf = (source: string): DraftEstimate => {
    const known = estimates.get(source) ?? createDraftEstimate();
    estimates.set(source, known);
    return known;
  };
  const secondsOf = ({ startSeconds, tokenSeconds }: Offer, tokens: number): number =>
    startSeconds + tokens * tokenSeconds + costs.seconds(tokens + 1);
  const earned = (): number => carried + LOSS_SHARE * (plainSeconds + replaced) + replaced - spent;
  let learning = learningSeconds;
  const allowance = (): number => earned() + learning + Math.min(MOST_AHEAD_PASSES, AHEAD_SHARE * wanted) * single();
  const isAffordable = (seconds: number): boolean => seconds - single() * (1 + LOSS_SHARE) <= allowance();

  /**
   * The choice with the most tokens per second that can be afforded, if it beats a pass of one token; `later` if one
   * that can't be afforded yet is expected to. Attempts that are too short to pay would spend what is being saved for
   * it.
   */
  const best = <Offered extends Offer>(offers: readonly Offered[]): Choice<Offered> | 'later' | undefined => {
    let found: Choice<Offered> | undefined;
    let fastest = 1 / costs.seconds(1);
    let isLater = false;
    for (const offer of offers) {
      const { acceptanceRate, sureRate } = estimateOf(offer.source);
      // The mean number of tokens and of seconds, and the probability that a token is drafted, and accepted as well.
      let [given, seconds, drafted, accepted] = [1, offer.startSeconds + costs.seconds(1), 1, 1];
      let shorter = costs.seconds(1);
      for (let tokens = 1; tokens <= offer.most; tokens++) {
        const pass = costs.seconds(tokens + 1);
        seconds += drafted * (offer.tokenSeconds + sureRate * (pass - shorter));
        shorter = pass;
        drafted *= sureRate;
        accepted *= sureRate * acceptanceRate;
        given += accepted;
        if (given / seconds <= fastest) continue;
        if (!isAffordable(secondsOf(offer, tokens))) {
          // More of them cost more.
          isLater = true;
          break;
        }
        [found, fastest] = [{ offer, tokens }, given / seconds];
      }
    }
    return found ?? (isLater ? 'later' : undefined);
  };
  const probe = <Offered extends Offer>(offers: readonly Offered[]): Choice<Offered> | undefined => {
    if (untried < interval) return undefined;
    const [cheapest] = offers.toSorted((a, b) => secondsOf(a, 1) - secondsOf(b, 1));
    if (cheapest === undefined) return undefined;
    let tokens = interval === PROBES.first ? Math.min(PROBE_TOKENS, cheapest.most) : 1;
    while (tokens > 0 && !isAffordable(secondsOf(cheapest, tokens))) tokens -= 1;
    return tokens === 0 ? undefined : { offer: cheapest, tokens };
  };

  return {
    begin(next) {
      const most = costs.isKnown ? CARRIED_PASSES * single() : 0;
      const own = costs.isKnown ? earned() : 0;
      carried = Math.max(-most, Math.min(most, own));
      learning = Math.max(0, learning - Math.max(0, carried - own));
      prompt = next;
      plainSeconds = next.seconds;
      [replaced, spent, wanted] = [0, 0, 0];
      unlooked = Number.POSITIVE_INFINITY;
    },
    expect(tokens) {
      wanted = tokens;
    },
    know({ tokens, seconds }) {
      costs.add(tokens, seconds);
      if (tokens === 1) addToMean(seconds);
    },
    get mayDraft() {
      if (!costs.isKnown || since >= PASSES_BETWEEN_PLAIN) return false;
      return lookSeconds() <= Math.min(Math.max(0, allowance()), LOOK_SHARE * unlooked * single());
    },
    choose(offers) {
      const chosen = !costs.isKnown || since >= PASSES_BETWEEN_PLAIN ? undefined : (best(offers) ?? probe(offers));
      const found = chosen === 'later' ? undefined : chosen;
      unlooked = found === undefined ? 0 : Number.POSITIVE_INFINITY;
      return found;
    },
    plain({ lookSeconds, passSeconds }) {
      costs.add(1, passSeconds);
      look(lookSeconds);
      unlooked += 1;
      addToMean(passSeconds);
      plainSeconds += single();
      since = 0;
      untried += 1;
    },
    verified({ source, asked, drafted, accepted, lookSeconds, draftSeconds, expectedDraftSeconds, passSeconds }) {
      look(lookSeconds);
      // The first of its size takes longer, and others may take the processor: that says nothing of drafts.
      const expected = Math.max(costs.seconds(drafted + 1), (1 + ASSUMED_SHARE * drafted) * single());
      const pass = Math.min(passSeconds, INTERRUPTED * expected);
      const earlier = sizes.get(drafted + 1) ?? 0;
      sizes.set(drafted + 1, earlier + 1);
      if (earlier >= WARMING) costs.add(drafted + 1, pass);
      estimateOf(source).add({ asked, drafted, accepted });
      replaced += (accepted + 1) * single();
      spent += Math.min(draftSeconds, INTERRUPTED * expectedDraftSeconds) + pass;
      since += 1;
      untried = 0;
      interval = accepted > 0 ? PROBES.first : Math.min(PROBES.last, 2 * interval);
    },
    charge(seconds, expected) {
      spent += Math.min(seconds, INTERRUPTED * expected);
    },
    passSeconds: (tokens) => costs.seconds(tokens),
    get allowance() {
      return allowance();
    },
    get replacedSeconds() {
      return replaced;
    },
    get spentSeconds() {
      return spent;
    },
  };
}
