import type { SavedPages } from '../page-cache/saved-pages.ts';
import { type MemberParts, simulateVisit, type Visit, type VisitTimes } from './ring-member.ts';

/** A token has left a device, where now nothing but its prefetching goes on until the next visit. */
export interface Departure {
  /** @param gap seconds until a token arrives again */
  respond(gap: number): Response;
}

/** A visit: how long it takes, and what comes after it. */
export interface Response extends Omit<VisitTimes, 'saved'> {
  /** `undefined`: the device goes on in a way that can't be told from what its page cache holds. */
  readonly after: Departure | undefined;
}

/** Gaps below this share of the time to rest are all simulated: such a visit may begin before the prefetching does. */
const LEAST_GAP = 1 / 1024;
/** Two times that differ by this share at most are the same, but for rounding. */
const ROUNDING = 1e-12;

/**
 * Departures of a device as a function of when tokens arrive. `visits` come in order: those of the prompt, then those
 * of a decoded token, which repeat.
 *
 * Each visit is simulated from what the page cache held at the departure before, with the clock at 0 there. So it
 * depends on that and on the gap alone, and is looked up when both come again, in this plan or another. Once nothing
 * goes on in the background the visit takes as long whenever it begins. Earlier the token meets the prefetching thread,
 * and mostly leaves when that is done, whenever it came. So where a token leaves together with one that came almost at
 * once, with the same bytes read for page faults and the same left in memory, so do those that came between them; and
 * likewise with one that came at rest. Their times are taken from these two, so that the results, to the last bit,
 * don't depend on what was asked before. This is observed, not proved, so sweeps compare a sample with whole
 * simulations. Every other gap is simulated.
 */
export function createMember(member: MemberParts, visits: readonly Visit[]): Departure {
  const known = new Map<string, Departure>();
  const period = visits.length / 2;

  const departureAt = (saved: SavedPages | undefined, index: number): Departure => {
    const key = `${index} ${JSON.stringify(saved)}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const departure = createDeparture(saved, index);
    known.set(key, departure);
    return departure;
  };

  const createDeparture = (saved: SavedPages | undefined, index: number): Departure => {
    const next = index + 1 < visits.length ? index + 1 : period;
    let atRest: Response | undefined;

    const simulate = (gap: number | 'rest'): Response => {
      const { saved: left, ...times } = simulateVisit(member, {
        visit: visits[index] as Visit,
        before: visits[index - 1],
        saved,
        gap,
      });
      return { ...times, after: left && departureAt(left, next) };
    };

    const early = new Map<number, Response>();
    const after = (gap: number): Response => {
      const found = early.get(gap) ?? simulate(gap);
      early.set(gap, found);
      return found;
    };

    /** The departure stays the same from the least gap up to `until`, and again from `from` on to rest. */
    let [until, from] = [0, Number.POSITIVE_INFINITY];
    const respondEarly = (gap: number, rest: Response): Response => {
      const least = LEAST_GAP * rest.gap;
      if (gap < least) return after(gap);
      if (gap > until && gap < from) {
        const found = after(gap);
        if (leaveTogether(found, after(least))) until = gap;
        else if (leaveTogether(found, rest)) from = gap;
        else return found;
      }
      return arriveAfter(gap, gap <= until ? after(least) : rest);
    };

    return {
      respond: (gap) => {
        atRest ??= simulate('rest');
        return gap >= atRest.gap ? atRest : respondEarly(gap, atRest);
      },
    };
  };

  return departureAt(undefined, 0);
}

function leaveTogether(one: Response, other: Response): boolean {
  const departure = one.gap + one.seconds;
  const difference = Math.abs(departure - other.gap - other.seconds);
  const outputDifference = Math.abs((one.outputSeconds ?? 0) - (other.outputSeconds ?? 0));
  return (
    one.after !== undefined &&
    one.after === other.after &&
    one.faultedBytes === other.faultedBytes &&
    difference <= ROUNDING * departure &&
    outputDifference <= ROUNDING * departure
  );
}

/** The same departure after another gap; the output layer takes as long from the arrival on. */
function arriveAfter(gap: number, response: Response): Response {
  return { ...response, gap, seconds: response.seconds - (gap - response.gap) };
}
