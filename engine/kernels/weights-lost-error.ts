import { InputError } from '../input/input-error.ts';

/**
 * A file of weights that is in use can't be read any more, since it has shrunk or its disk fails. What is computed with
 * it is worthless from then on.
 */
export class WeightsLostError extends InputError {}
