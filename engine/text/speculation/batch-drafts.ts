import { expectedTokens } from '../../cost/speculation.ts';
import { type AcceptanceEstimate, createAcceptanceEstimate } from './acceptance-estimate.ts';
import { MOST_DRAFTED } from './create-speculation.ts';
import { LOSS_SHARE } from './draft-length.ts';
import { createPassCosts, type PassCosts } from './pass-costs.ts';

/** What could be drafted for a text of a pass: the tokens, and how many of the text's last ones matched. */
export interface BatchOffer {
  readonly tokens: readonly number[];
  readonly matched: number;
}

/** A pass with a token of each text, and those that were drafted. */
export interface BatchPass {
  readonly texts: number;
  /** Of each text with drafted tokens. */
  readonly drafts: readonly { readonly matched: number; readonly drafted: number; readonly accepted: number }[];
  /** Of the search for drafts; 0: there was none. */
  readonly searchSeconds: number;
  /** Of the rest, with the choice of tokens. */
  readonly seconds: number;
}

/** How many tokens to draft for each text of a batch. */
export interface BatchDrafts {
  /** Whether to search for drafts: in small models that takes a noticeable part of a pass. */
  maySearch(texts: number): boolean;
  /** The most tokens of an offer to draft; 0: none. @param offers of the texts that have one */
  most(texts: number, offers: readonly BatchOffer[]): number;
  /** Records a pass without prompts. */
  passed(pass: BatchPass): void;
}

/** The lengths that are considered. */
const LENGTHS = [1, 2, 3, 4, 6, 8, 12, MOST_DRAFTED];
/** Passes with drafts after which one without is due, since their cost grows with the contexts. */
const PASSES_BETWEEN_PLAIN = 48;
/** Share of a search in the mean of all. */
const SEARCH_SHARE = 1 / 8;
/** Passes after which a token is tried where none has paid. */
const PROBE = 64;

/**
 * Drafts m tokens where (n + Σ(E_i − 1))/c(n, d) is largest: tokens per second of n texts, of which text i gives
 * E_i = (1 − α^(m_i+1))/(1 − α) (Leviathan et al. 2023, Equation 1) with m_i of them, in a pass with d = Σ m_i of them
 * that takes c(n, d) as measured. α is by the number of tokens that matched. What all drafts together may lose is
 * bounded by LOSS_SHARE of the time without them, whatever is accepted.
 * @param fixed tokens to draft at a time; `undefined`: as many as pay
 */
export function createBatchDrafts(fixed?: number): BatchDrafts {
  const rates = new Map<number, AcceptanceEstimate>();
  /** By the number of texts; a pass without drafts counts as one of a single token. */
  const costs = new Map<number, PassCosts>();
  let [plainSeconds, replaced, spent] = [0, 0, 0];
  let [sincePlain, sinceDraft] = [0, 0];
  let search = 0;
  const madeIn = <Value>(map: Map<number, Value>, key: number, make: () => Value): Value => {
    const value = map.get(key) ?? make();
    map.set(key, value);
    return value;
  };
  const costsOf = (texts: number): PassCosts => madeIn(costs, texts, createPassCosts);
  const rateOf = (matched: number): AcceptanceEstimate => madeIn(rates, matched, createAcceptanceEstimate);
  const allowance = (): number => LOSS_SHARE * (plainSeconds + replaced) + replaced - spent;
  const isAffordable = (seconds: number, plain: number): boolean => seconds - plain * (1 + LOSS_SHARE) <= allowance();

  return {
    maySearch: (texts) => fixed !== undefined || (costsOf(texts).isKnown && search <= allowance()),
    most(texts, offers) {
      if (offers.length === 0) return 0;
      if (fixed !== undefined) return fixed;
      const known = costsOf(texts);
      if (!known.isKnown || sincePlain >= PASSES_BETWEEN_PLAIN) return 0;
      const plain = known.seconds(1);
      const secondsOf = (length: number): number =>
        known.seconds(1 + offers.reduce((sum, { tokens }) => sum + Math.min(length, tokens.length), 0));
      let [best, fastest] = [0, texts / plain];
      for (const length of LENGTHS) {
        const more = offers.reduce((sum, { tokens, matched }) => {
          const draftTokens = Math.min(length, tokens.length);
          return sum + expectedTokens({ acceptanceRate: rateOf(matched).rate, draftTokens }) - 1;
        }, 0);
        const seconds = secondsOf(length);
        const speed = (texts + more) / seconds;
        if (speed > fastest && isAffordable(seconds, plain)) [best, fastest] = [length, speed];
      }
      if (best === 0 && sinceDraft >= PROBE && isAffordable(secondsOf(1), plain)) return 1;
      return best;
    },
    passed({ texts, drafts, searchSeconds, seconds }) {
      const own = costsOf(texts);
      const drafted = drafts.reduce((sum, one) => sum + one.drafted, 0);
      own.add(1 + drafted, seconds);
      spent += searchSeconds;
      if (searchSeconds > 0) search += SEARCH_SHARE * (searchSeconds - search);
      const plain = own.seconds(1);
      if (drafted === 0) {
        plainSeconds += plain;
        sincePlain = 0;
        sinceDraft += 1;
        return;
      }
      const accepted = drafts.reduce((sum, one) => sum + one.accepted, 0);
      for (const one of drafts) rateOf(one.matched).add(one.drafted, one.accepted);
      sincePlain += 1;
      sinceDraft = 0;
      if (Number.isNaN(plain)) return;
      replaced += ((texts + accepted) / texts) * plain;
      spent += seconds;
    },
  };
}
