/** Raised with every change that older programs would misread. */
export const PROTOCOL_VERSION = 2;

/** "HRTH" as a little-endian number. */
export const MAGIC = 0x48545248;

/** Bytes before a frame's payload. */
export const HEADER_BYTES = 48;

/**
 * The longest message: spans of a long run, a few thousand at 200 bytes. What an activation frame may have follows from
 * the model.
 */
export const MOST_MESSAGE_BYTES = 2 ** 22;

export const ACTIVATION_FORMATS = ['F32', 'F16'] as const;
/** How the residual stream travels. F32 changes nothing; F16 halves the bytes and rounds to 11 bits. */
export type ActivationFormat = (typeof ACTIVATION_FORMATS)[number];

/** The residual stream of some tokens on its way to the next window. */
export interface ActivationFrame {
  readonly kind: 'activations';
  /** Which assembly of the ring it belongs to. */
  readonly epoch: number;
  readonly request: number;
  /** The window that is next, in the order in which a token visits them; their number: the output. */
  readonly window: number;
  /** Of the first token. */
  readonly position: number;
  readonly tokens: number;
  /** How many of the last tokens the output is wanted of: 0 or 1. */
  readonly rows: number;
  /** Tokens that the request's KV cache has to hold. */
  readonly capacity: number;
  readonly format: ActivationFormat;
  /** Seconds, on the sender's clock. */
  readonly sentAt: number;
  /** [tokens][hidden]; behind the last window only the rows that are wanted. */
  readonly payload: Uint8Array;
}

/** A message as JSON (message.ts). */
export interface MessageFrame {
  readonly kind: 'message';
  readonly payload: Uint8Array;
}

/** Bytes that come back as an `echo`: what a link can carry. `tag` tells probes apart. */
export interface ProbeFrame {
  readonly kind: 'probe' | 'echo';
  readonly tag: number;
  readonly payload: Uint8Array;
}

export type Frame = ActivationFrame | MessageFrame | ProbeFrame;

/** A frame that no Hearth writes: whoever sent it is not talked to any more. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
}
