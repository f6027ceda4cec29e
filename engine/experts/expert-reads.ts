/** Counts, bytes and seconds of the experts that were needed and read. */
export interface ExpertReads {
  /** Experts that a layer needed, by the tokens of a pass together. */
  readonly needs: number;
  /** Experts that had to be read after the router had chosen. */
  readonly reads: number;
  /** Experts that were read ahead of that, and those of them that the next token of their layer didn't need. */
  readonly ahead: number;
  readonly wrong: number;
  /** Bytes that were asked for; with `mmap`, bytes that came from the disk. */
  readonly bytes: number;
  /** Seconds in which nothing was multiplied, since experts were awaited. */
  readonly waited: number;
}
