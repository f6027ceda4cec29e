import { InputError } from '../../input/input-error.ts';

/** A ring that can't go on, and which device is at fault: for its user to mend. */
export class RingError extends InputError {
  constructor(
    readonly device: string,
    reason: string,
  ) {
    super(device, reason);
  }
}

/** A device is gone, or the link to it: the rest may go on without it. */
export class DeviceLostError extends RingError {}

/** The ring was put together anew while a request was under way: it goes on from its tokens. */
export class RingChangedError extends Error {
  override readonly name = 'RingChangedError';
}
