/** An invalid frame. The connection to its sender is closed. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
}
