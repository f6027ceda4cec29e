import { InputError } from '../../input/input-error.ts';

/** The ring can't continue because of `device`, and its user has to act. */
export class RingError extends InputError {
  constructor(
    readonly device: string,
    reason: string,
  ) {
    super(device, reason);
  }
}

/** A device, or the link to it, is lost. The ring may continue without it (lost-worker.ts). */
export class DeviceLostError extends RingError {}

/** A device doesn't reach another, though the head reaches both. */
export class LinkLostError extends DeviceLostError {
  constructor(
    readonly from: string,
    device: string,
    readonly reason: string,
  ) {
    super(device, `the link from ${from} to it is gone (${reason})`);
  }
}

/** The ring was assembled again while a request was under way. The request is repeated from its tokens. */
export class RingChangedError extends Error {
  override readonly name = 'RingChangedError';
}

/** Rejects if `promise` takes longer than `seconds`. @param late creates the error */
export function within<Value>(seconds: number, promise: Promise<Value>, late: () => Error): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), 1000 * seconds);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
