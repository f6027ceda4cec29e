/** Bytes before the rows of a frame (engine/ring/wire/frame.ts). */
export const FRAME_HEADER_BYTES = 48;
/** Bytes that say how many experts a row of a request names; and those of one of these, its number and its weight. */
export const ROW_BYTES = 4;
export const CHOICE_BYTES = 8;

/** Tokens that a device multiplies experts for. */
export interface ExpertLoad {
  /** Tokens that chose any of its experts. */
  readonly rows: number;
  /** Choices of all these tokens. */
  readonly choices: number;
}

/** Bytes of what a head sends to a holder of experts: its tokens' hidden states, and the experts that each chose there. */
export function requestBytes({ rows, choices }: ExpertLoad, rowBytes: number): number {
  return rows === 0 ? 0 : FRAME_HEADER_BYTES + rows * (ROW_BYTES + rowBytes) + choices * CHOICE_BYTES;
}

/** Bytes of what comes back: the weighted sum of its experts for each token. */
export function resultBytes({ rows }: Pick<ExpertLoad, 'rows'>, rowBytes: number): number {
  return rows === 0 ? 0 : FRAME_HEADER_BYTES + rows * rowBytes;
}
