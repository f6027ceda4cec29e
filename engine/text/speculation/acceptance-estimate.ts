/** α of a source of drafted tokens, learned from verifications; recent ones count most. */
export interface AcceptanceEstimate {
  /** Probability that a drafted token is accepted, given that those before it were; 0 to 1. */
  readonly rate: number;
  /** Adds a verification. */
  add(drafted: number, accepted: number): void;
}

/** What a verification still counts after the next one: some twenty of them decide, so that a change is soon noticed. */
const REMEMBERED = 0.95;

/** Assumed before anything is known, and how many tries that weighs. */
const ASSUMED = { rate: 0.75, weight: 2 };

/**
 * Each accepted token is a success; the first rejected one is the only failure of its verification, since those after it
 * were not tried (the geometric distribution of Leviathan et al. 2023, section 3.1).
 */
export function createAcceptanceEstimate(): AcceptanceEstimate {
  let [successes, tries] = [ASSUMED.rate * ASSUMED.weight, ASSUMED.weight];
  return {
    get rate() {
      return successes / tries;
    },
    add(drafted, accepted) {
      successes = REMEMBERED * successes + accepted;
      tries = REMEMBERED * tries + Math.min(drafted, accepted + 1);
    },
  };
}
