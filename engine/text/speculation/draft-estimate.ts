import type { Speculation } from '../../cost/speculation.ts';

/** A verification: tokens that were asked of a source, those that it drafted, and those of them that were right. */
export interface VerifiedDraft {
  readonly asked: number;
  readonly drafted: number;
  readonly accepted: number;
}

/** Expectation of a source of drafted tokens, learned from verifications; recent ones count most. */
export interface DraftEstimate extends Required<Omit<Speculation, 'draftTokens'>> {
  add(verified: VerifiedDraft): void;
}

/**
 * Weight that a verification keeps after the next one: some twenty of them decide, so that a change is soon noticed.
 */
const REMEMBERED = 0.95;

/** Assumed before anything is known, and how many tries that weighs. */
const ASSUMED = { acceptanceRate: 0.75, sureRate: 1, weight: 2 };

export function createDraftEstimate(): DraftEstimate {
  const accepts = createRate(ASSUMED.acceptanceRate);
  const goesOn = createRate(ASSUMED.sureRate);
  return {
    get acceptanceRate() {
      return accepts.rate;
    },
    get sureRate() {
      return goesOn.rate;
    },
    add({ asked, drafted, accepted }) {
      goesOn.add(asked, drafted);
      accepts.add(drafted, accepted);
    },
  };
}

/**
 * Each success of a row counts; the first failure is the only one, since what comes after it was not tried (the
 * geometric distribution of Leviathan et al. 2023, section 3.1).
 */
function createRate(assumed: number) {
  let [succeeded, tried] = [assumed * ASSUMED.weight, ASSUMED.weight];
  return {
    get rate(): number {
      return succeeded / tried;
    },
    add(most: number, successes: number): void {
      succeeded = REMEMBERED * succeeded + successes;
      tried = REMEMBERED * tried + Math.min(most, successes + 1);
    },
  };
}
