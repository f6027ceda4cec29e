import { addSpan, removeSpan, type Span, splitBySet } from './extents.ts';
import type { Reclaimer } from './reclaimer.ts';
import type { Run } from './runs.ts';
import type { CacheState } from './state.ts';

/** Extents that stay once they are resident, whether they are resident now or not (mlock). */
export interface Pins {
  pin(span: Span): void;
  unpin(span: Span): void;
  /** A span has been read: pinned extents stay, and the reclaimer takes the others. */
  admit(span: Span): void;
}

export function createPins({ lists, runs }: CacheState, reclaimer: Reclaimer): Pins {
  const pinned: Span[] = [];
  const isReading = ({ list }: Run): boolean => list === lists.reading;
  const isEvictable = ({ list }: Run): boolean => list !== lists.reading && list !== lists.pinned;
  const isPinned = ({ list }: Run): boolean => list === lists.pinned;
  const isPassing = ({ list }: Run): boolean => list === lists.passing;
  const toPinned = (run: Run): void => runs.toNewest(run, lists.pinned);
  const toPassing = (run: Run): void => runs.toNewest(run, lists.passing);
  return {
    pin: (span) => {
      addSpan(pinned, span);
      runs.visit(span, isEvictable, toPinned);
    },
    unpin: (span) => {
      const parts = splitBySet(pinned, span).filter(({ inside }) => inside);
      removeSpan(pinned, span);
      for (const part of parts) runs.visit(part, isPinned, toPassing);
      for (const part of parts) runs.visit(part, isPassing, reclaimer.admit);
    },
    admit: (span) => {
      if (pinned.length === 0) {
        runs.visit(span, isReading, reclaimer.admit);
        return;
      }
      runs.visit(span, isReading, (run) => {
        for (const { from, to, inside } of splitBySet(pinned, run)) {
          runs.visit({ from, to }, isReading, inside ? toPinned : reclaimer.admit);
        }
      });
    },
  };
}
