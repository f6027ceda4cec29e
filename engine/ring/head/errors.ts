import { InputError } from '../../input/input-error.ts';

/** A ring can't go on because of `device`; its user has to act. */
export class RingError extends InputError {
  constructor(
    readonly device: string,
    reason: string,
  ) {
    super(device, reason);
  }
}

/** A device, or the link to it, is lost. The ring may go on without it (lost-worker.ts). */
export class DeviceLostError extends RingError {}

/** The ring was assembled anew while a request was under way. The request goes on from its tokens. */
export class RingChangedError extends Error {
  override readonly name = 'RingChangedError';
}

/** Bounds a wait. @param late the error with which to reject after `seconds` */
export function within<Value>(seconds: number, promise: Promise<Value>, late: () => Error): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), 1000 * seconds);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
