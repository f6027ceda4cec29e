import { clock } from '../wire/clock.ts';

/** Seconds without a read after which a disk counts as hung: as long as a peer may miss heartbeats. */
export const STILL_SECONDS = 2.5;

/** Milliseconds between samples. */
const PERIOD = 250;

/** Reads and faults that the operating system has counted so far. */
export type ReadCounts = Pick<NodeJS.ResourceUsage, 'fsRead' | 'majorPageFault'>;

export interface StillReadsOptions {
  /** Called once if the process has read nothing from its disks for STILL_SECONDS. */
  readonly onStill: (seconds: number) => void;
  /** Called after onStill, if the reads have ended after all. */
  readonly onMoved: () => void;
  /** Default: those of this process. */
  readonly counts?: () => ReadCounts;
}

/**
 * Waits for reads of this process. Slow reads are no fault, however long they take. If no read makes progress, the
 * disk doesn't answer.
 */
export async function watchReads(
  reads: Promise<void>,
  { onStill, onMoved, counts = () => process.resourceUsage() }: StillReadsOptions,
): Promise<void> {
  let last: ReadCounts | undefined; // sampled once the wait has taken a while: most reads are done at once
  let [since, isStill] = [clock(), false];
  const timer = setInterval(() => {
    const now = counts();
    if (now.fsRead !== last?.fsRead || now.majorPageFault !== last.majorPageFault) [last, since] = [now, clock()];
    const seconds = clock() - since;
    if (isStill || seconds < STILL_SECONDS) return;
    isStill = true;
    onStill(seconds);
  }, PERIOD);
  try {
    await reads;
  } finally {
    clearInterval(timer);
    if (isStill) onMoved();
  }
}
