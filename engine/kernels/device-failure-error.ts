import { InputError } from '../input/input-error.ts';

/** A device that computes, such as a GPU, was lost or has too little memory. */
export class DeviceFailureError extends InputError {}
