/** Work of one processor: its seconds while no other processor uses the memory, and the bytes that it moves. */
export interface Task {
  readonly seconds: number;
  readonly bytes: number;
  /** Seconds that its arithmetic takes, all of them unless given; in the others it waits for the memory. */
  readonly calculating?: number;
  /** Bytes per second that it needs for its full speed; those that it moves on average unless given. */
  readonly demand?: number;
}

/**
 * Relative difference below which two ends count as equal, so that rounding doesn't decide which processor ends last.
 */
export const ROUNDING = 1e-12;

export const NO_TASK: Required<Omit<Task, 'demand'>> = { seconds: 0, bytes: 0, calculating: 0 };

/** Bytes per second that a task needs to run as fast as it does while it has the memory to itself. */
export function demandOf({ seconds, bytes, demand }: Task): number {
  return seconds === 0 ? 0 : (demand ?? bytes / seconds);
}

/**
 * The demand with which a task keeps `pace` of its speed next to another one that has such a demand too: equal shares
 * of the bandwidth, T/2, are then `pace` of what each needs, T/(2 pace). What the two really compete for, cores or
 * caches, doesn't matter.
 * @param pace from one half on, at which a task alone uses all of the bandwidth; a smaller one counts as that
 * @param total bytes per second
 */
export function demandAtPace(pace: number, total: number): number {
  return Math.min(total, total / (2 * pace));
}

/**
 * Divides a memory's bandwidth among demands: each demand below an equal share is met, and the others share the rest
 * equally (max-min fairness; Bertsekas and Gallager 1992, 6.5.2). Assumed:
 * HeteroLLM reports sums only, one processor 40 to 45 GB/s, two about 60 (3.3).
 * @param demands,total bytes per second
 * @returns bytes per second for each demand, in order
 */
export function shareBandwidth(demands: readonly number[], total: number): number[] {
  const shares = demands.map(() => 0);
  const ascending = demands.map((_, index) => index).sort((a, b) => (demands[a] as number) - (demands[b] as number));
  let left = total;
  ascending.forEach((index, served) => {
    const share = Math.min(demands[index] as number, left / (demands.length - served));
    shares[index] = share;
    left -= share;
  });
  return shares;
}

/** Seconds until each of two tasks that start together ends. */
export interface Ends {
  readonly first: number;
  readonly second: number;
}

/**
 * The ends of two concurrent tasks on a memory of `total` bytes per second. While both run, each is slowed down by the
 * ratio of its bandwidth to its demand; when one ends, the other continues alone. A task without bytes isn't slowed
 * down.
 */
export function concurrently(first: Task, second: Task, total: number): Ends {
  const [firstDemand, secondDemand] = [demandOf(first), demandOf(second)];
  if (firstDemand + secondDemand <= total) return { first: first.seconds, second: second.seconds };
  const firstPace = pace(firstDemand, secondDemand, total);
  const secondPace = pace(secondDemand, firstDemand, total);
  const [firstEnd, secondEnd] = [first.seconds / firstPace, second.seconds / secondPace];
  if (firstEnd <= secondEnd) {
    const left = second.seconds - firstEnd * secondPace;
    return { first: firstEnd, second: firstEnd + left * Math.max(1, secondDemand / total) };
  }
  const left = first.seconds - secondEnd * firstPace;
  return { first: secondEnd + left * Math.max(1, firstDemand / total), second: secondEnd };
}

/** The share of its speed that a task keeps next to another: its bandwidth by shareBandwidth divided by its demand. */
function pace(demand: number, other: number, total: number): number {
  return demand === 0 ? 1 : Math.min(1, Math.max(total / 2, total - other) / demand);
}
