/** Work of one processor as it goes while no other reads memory: how long it takes, and the bytes it moves. */
export interface Task {
  readonly seconds: number;
  readonly bytes: number;
}

/** Relative difference below which two ends are one: rounding must not decide which processor ends last. */
export const ROUNDING = 1e-12;

export const NO_TASK: Task = { seconds: 0, bytes: 0 };

/** Bytes per second that a task moves while nothing hinders it. */
export function demandOf({ seconds, bytes }: Task): number {
  return seconds === 0 ? 0 : bytes / seconds;
}

/**
 * How a memory's bandwidth is divided among those who want it: each gets what it asks for if that is below an equal
 * share, and the rest is shared equally by the others (max-min fairness; Bertsekas and Gallager 1992, 6.5.2). Assumed:
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

/** When each of two tasks that start together ends, seconds. */
export interface Ends {
  readonly first: number;
  readonly second: number;
}

/**
 * Two tasks at the same time on a memory of `total` bytes per second: while both run, each goes slower by as much as it
 * gets less bandwidth than it wants; what is left when one ends goes on alone. A task without bytes is not hindered.
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

/** Share of its own speed that a task keeps beside one other: what shareBandwidth gives it, over what it asks for. */
function pace(demand: number, other: number, total: number): number {
  return demand === 0 ? 1 : Math.min(1, Math.max(total / 2, total - other) / demand);
}
