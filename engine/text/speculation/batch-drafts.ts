import { expectedTokens } from '../../cost/speculation.ts';
import { MOST_DRAFTED } from './create-speculation.ts';
import { createDraftEstimate, type DraftEstimate, type VerifiedDraft } from './draft-estimate.ts';
import { LEARNING_SECONDS, LOSS_SHARE, type Offer, PROBE_TOKENS, PROBES } from './draft-length.ts';
import { ASSUMED_SHARE, createPassCosts, type PassCosts } from './pass-costs.ts';

/** Drafts that a text of a pass could get, by each source that it has: at least one token. */
export interface TextOffers {
  /** Tokens that followed where the text's last ones occurred before: they are there, and cost nothing. */
  readonly lookup: Omit<Offer, 'startSeconds' | 'tokenSeconds'> | undefined;
  /** Offer of a small model. Texts draft together: the pass waits for the slowest, not for their sum. */
  readonly model: Offer | undefined;
}

/** Draft chosen for a text. */
export interface TextChoice {
  readonly from: keyof TextOffers;
  readonly source: string;
  readonly tokens: number;
}

/** A pass with a token of each text, and those that were drafted. */
export interface BatchPass {
  readonly texts: number;
  /** Verified draft of each text for which a source was asked. */
  readonly drafts: readonly (VerifiedDraft & { readonly source: string })[];
  /** Seconds of the model's pass, with the choice of tokens. */
  readonly passSeconds: number;
  /** Seconds of that pass and of all drafting work. */
  readonly seconds: number;
}

/** Decides the number of tokens to draft for each text of a batch. */
export interface BatchDrafts {
  /** Whether to look for possible drafts: in small models that alone takes a noticeable part of a pass. */
  mayDraft(texts: number): boolean;
  /** @param offers of each text. @returns for each text what to draft; empty: nothing for any */
  choose(offers: readonly TextOffers[]): readonly (TextChoice | undefined)[];
  /** Seconds that drafts may cost now. */
  readonly allowance: number;
  /** Records a pass for which `mayDraft` was false. */
  plain(texts: number, seconds: number): void;
  /** Records another pass without prompts. */
  passed(pass: BatchPass): void;
}

/** The lengths that are considered. */
const LENGTHS = [1, 2, 3, 4, 6, 8, 12, MOST_DRAFTED];
/** Passes with drafts after which one without is due, since their cost grows with the contexts. */
const PASSES_BETWEEN_PLAIN = 48;

/** A choice with the means of what it gives: tokens more than without it, and tokens that are drafted. */
interface Expected extends TextChoice {
  readonly more: number;
  readonly drafted: number;
}

/** The most tokens to draft by each source. */
type MostTokens = Readonly<Record<keyof TextOffers, number>>;
const NONE: MostTokens = { lookup: 0, model: 0 };

/** Lengths in a row that are no faster, after which longer ones are not considered. */
const SLOWER = 2;
/** Passes slower than this multiple of the expected time were preempted by other processes and are ignored. */
const INTERRUPTED = 2;

/**
 * Drafts m tokens where (n + Σ(E_i − 1))/(c(n, Σ m_i) + d(m)) is largest: tokens per second of n texts, of which text i
 * gives E_i = (1 − α^(m_i+1))/(1 − α) (Leviathan et al. 2023, Equation 1) with m_i of them, in a pass that takes c as
 * measured, after a draft that takes d. α is by source. A source that stops where it isn't sure drafts fewer than m_i
 * on average, and both E_i and the pass are counted so.
 *
 * Drafts may lose LOSS_SHARE of the time without them, and LEARNING_SECONDS once, whatever is accepted. All that a pass
 * takes longer than one for which nothing was done counts: the search for drafts, the choice among them, and this
 * account. So in a small model most passes are plain once nothing is found.
 * @param fixed tokens to draft at a time; `undefined`: as many as pay
 */
export function createBatchDrafts(fixed?: number): BatchDrafts {
  const estimates = new Map<string, DraftEstimate>();
  /** By the number of texts: those of passes by tokens more than one without drafts has, and one. */
  const passes = new Map<number, PassCosts>();
  let [plainSeconds, replaced, spent] = [0, 0, 0];
  /**
   * Passes since one without anything done for drafts, and since one with drafts; how many of these until an attempt.
   */
  let [sincePlain, sinceDraft, interval] = [0, 0, PROBES.first];
  /** Costs of looking for drafts and choosing among them. */
  const looking = createPassCosts();
  const lookSeconds = (): number => (looking.isKnown ? looking.seconds(1) : 0);
  /** Seconds that are expected of the drafts that were chosen last, and their pass. */
  let chosen: number | undefined;
  const costsOf = (texts: number): PassCosts => {
    const known = passes.get(texts) ?? passCostsOf(texts);
    passes.set(texts, known);
    return known;
  };
  const estimateOf = (source: string): DraftEstimate => {
    const known = estimates.get(source) ?? createDraftEstimate();
    estimates.set(source, known);
    return known;
  };
  const allowance = (): number => LEARNING_SECONDS + LOSS_SHARE * (plainSeconds + replaced) + replaced - spent;
  const isAffordable = (seconds: number, plain: number): boolean => seconds - plain * (1 + LOSS_SHARE) <= allowance();

  /** The choice for a text with the largest expected gain, with at most this many tokens of each source. */
  const bestOf = (offers: TextOffers, most: MostTokens): Expected | undefined => {
    let best: Expected | undefined;
    for (const from of ['lookup', 'model'] as const) {
      const offer = offers[from];
      if (offer === undefined || most[from] === 0) continue;
      const { source } = offer;
      const tokens = Math.min(most[from], offer.most);
      const { acceptanceRate, sureRate } = estimateOf(source);
      const more = expectedTokens({ acceptanceRate, sureRate, draftTokens: tokens }) - 1;
      if (best !== undefined && more <= best.more) continue;
      const drafted = expectedTokens({ acceptanceRate: 1, sureRate, draftTokens: tokens }) - 1;
      best = { from, source, tokens, more, drafted };
    }
    return best;
  };
  const draftSeconds = (offers: readonly TextOffers[], choices: readonly (TextChoice | undefined)[]): number => {
    let [start, token, most] = [0, 0, 0];
    for (const [index, choice] of choices.entries()) {
      const offer = offers[index]?.model;
      if (choice?.from !== 'model' || offer === undefined) continue;
      start = Math.max(start, offer.startSeconds);
      token = Math.max(token, offer.tokenSeconds);
      most = Math.max(most, choice.tokens);
    }
    return start + most * token;
  };
  const planOf = (offers: readonly TextOffers[], most: MostTokens) => {
    const choices = offers.map((own) => bestOf(own, most));
    const sumOf = (value: (choice: Expected) => number): number =>
      choices.reduce((sum, choice) => sum + (choice === undefined ? 0 : value(choice)), 0);
    const costs = costsOf(offers.length);
    const draft = draftSeconds(offers, choices);
    return {
      ...{ choices, more: sumOf(({ more }) => more) },
      seconds: costs.seconds(1 + Math.round(sumOf(({ drafted }) => drafted))) + draft,
      /** If every source is sure to the end. */
      mostSeconds: costs.seconds(1 + sumOf(({ tokens }) => tokens)) + draft,
    };
  };

  return {
    mayDraft(texts) {
      if (fixed !== undefined) return true;
      return costsOf(texts).isKnown && sincePlain < PASSES_BETWEEN_PLAIN && lookSeconds() <= allowance();
    },
    choose(offers) {
      chosen = undefined;
      const has = (from: keyof TextOffers): boolean => offers.some((own) => own[from] !== undefined);
      const sources = (['lookup', 'model'] as const).filter(has);
      if (sources.length === 0) return [];
      if (fixed !== undefined)
        return offers.map((own) => bestOf(own, { lookup: fixed, model: own.lookup === undefined ? fixed : 0 }));
      const texts = offers.length;
      const plain = costsOf(texts).seconds(1);
      let best: readonly (TextChoice | undefined)[] = [];
      let fastest = texts / plain;
      let most: MostTokens = NONE;
      /**
       * Whether one that can't be afforded yet is expected to pay: shorter attempts would spend what is saved for it.
       */
      let isLater = false;
      // Lookups first; then the model in addition to what was chosen of them.
      for (const from of sources) {
        const others = most;
        let slower = 0;
        for (const length of LENGTHS) {
          const tried = { ...others, [from]: length };
          const { choices, more, seconds, mostSeconds } = planOf(offers, tried);
          const speed = (texts + more) / seconds;
          slower = speed > fastest ? 0 : slower + 1;
          if (slower === SLOWER) break;
          if (slower > 0) continue;
          if (!isAffordable(mostSeconds, plain)) {
            isLater = true;
            continue;
          }
          [best, fastest, most, chosen] = [choices, speed, tried, seconds];
        }
      }
      if (best.length > 0 || isLater || sinceDraft < interval) return best;
      const [cheapest] = sources;
      for (let tokens = interval === PROBES.first ? PROBE_TOKENS : 1; tokens > 0; tokens--) {
        const probe = planOf(offers, { ...NONE, [cheapest as keyof TextOffers]: tokens });
        if (!isAffordable(probe.mostSeconds, plain)) continue;
        chosen = probe.seconds;
        return probe.choices;
      }
      return [];
    },
    get allowance() {
      return fixed === undefined ? allowance() : Number.POSITIVE_INFINITY;
    },
    plain(texts, seconds) {
      const costs = costsOf(texts);
      costs.add(1, seconds);
      plainSeconds += Math.min(seconds, costs.seconds(1));
      sincePlain = 0;
      sinceDraft += 1;
    },
    passed({ texts, drafts, passSeconds, seconds }) {
      const costs = costsOf(texts);
      const plain = costs.isKnown ? costs.seconds(1) : 0;
      const drafted = drafts.reduce((sum, one) => sum + one.drafted, 0);
      const accepted = drafts.reduce((sum, one) => sum + one.accepted, 0);
      costs.add(1 + drafted, passSeconds);
      for (const one of drafts) estimateOf(one.source).add(one);
      if (drafts.length === 0) looking.add(1, seconds - passSeconds);
      if (drafted > 0) interval = accepted > 0 ? PROBES.first : Math.min(PROBES.last, 2 * interval);
      sinceDraft = drafted === 0 ? sinceDraft + 1 : 0;
      sincePlain += 1;
      const expected = lookSeconds() + (chosen ?? plain);
      replaced += ((texts + accepted) / texts) * plain;
      spent += plain === 0 ? 0 : Math.min(seconds, INTERRUPTED * expected);
    },
  };
}

/** A further token of a text is assumed to take a share of what each of this many takes. */
function passCostsOf(texts: number): PassCosts {
  return createPassCosts((first) => (ASSUMED_SHARE * first) / texts);
}
