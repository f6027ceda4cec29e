/** How often submitter and workers turn to Redis, and for how much. */
export const PACE = {
  /** Seconds of work in a job: the queue's share of the time is small, and little is lost with a worker. */
  jobSeconds: 1,
  /** Jobs in the queue per thread of the workers, and the least number. */
  queuedPerThread: 3,
  leastQueued: 8,
  /** Blocks that the submitter reads at once. */
  blocksRead: 256,
  /** Seconds between two looks of the submitter at the queue, and of one that found no result at the next. */
  lookSeconds: 0.05,
  /** Seconds between two reports of a worker, and between two looks of the submitter at all workers. */
  reportSeconds: 2,
} as const;
