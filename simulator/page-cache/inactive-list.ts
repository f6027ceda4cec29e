import { comesBefore, type Run } from './runs.ts';
import type { CacheState } from './state.ts';

/**
 * The inactive list with what is on its way to it: pages take their places when there is room for them and their read
 * begins, not when it ends.
 */
export interface InactiveLine {
  /** What has begun to be read goes to the end. */
  enter(): void;
  /** What has been read takes the place that it entered at. */
  arrive(run: Run): void;
  /** A run goes to the end. */
  rotate(run: Run): void;
  /** Reclaim has come to a run: what is older and still on its way is locked, and goes to the end. */
  pass(run: Run): void;
}

/** The turn of what has begun to be read, and has no place yet. */
export const NO_TURN = Number.POSITIVE_INFINITY;

export function createInactiveLine({ runs, lists }: Pick<CacheState, 'runs' | 'lists'>): InactiveLine {
  const { inactive, reading } = lists;
  let turn = 0;
  /** Runs that go to the end one after the other have one turn, so that neighbours can be joined. */
  let wasRotated = false;
  const nextTurn = (): number => {
    wasRotated = false;
    return ++turn;
  };
  return {
    enter: () => {
      if (reading.newest?.order !== NO_TURN) return;
      const own = nextTurn();
      for (let run: Run | undefined = reading.newest; run?.order === NO_TURN; run = run.older) run.order = own;
    },
    arrive: (run) => runs.toTurn(run, inactive),
    rotate: (run) => {
      if (!wasRotated) turn++;
      wasRotated = true;
      run.order = turn;
      runs.toNewest(run, inactive);
    },
    pass: (run) => {
      for (let next = reading.oldest; next !== undefined && comesBefore(next, run); next = reading.oldest) {
        next.order = nextTurn();
        runs.toTurn(next, reading);
      }
    },
  };
}
