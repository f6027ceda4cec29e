import { InputError } from '../input/input-error.ts';

/** A device that computes, such as a GPU, was lost, has too little memory, or can't do what a model needs. */
export class DeviceFailureError extends InputError {}
