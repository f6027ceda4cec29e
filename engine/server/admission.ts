import { ApiError, STOPPED } from './api-error.ts';

/** A request's place in the server. */
export interface Place {
  /** Fires with `cancel`, and when the server stops and the request has not ended in time. */
  readonly signal: AbortSignal;
  cancel(): void;
  /**
   * Takes as many places for more texts of the same request as are free, at most `texts`: the others wait for these.
   * @returns how many texts of the request run at once
   */
  extend(texts: number): number;
  /** Cancels what still runs, and gives all places back. */
  leave(): void;
}

/** Bounds the texts that run and wait, and ends them when the server stops. */
export interface Admission {
  /** @throws ApiError 429 if the server is full, 503 if it stops */
  enter(): Place;
  readonly texts: number;
  /** Stops admitting, waits until all have left, and cancels those that remain after `seconds`. */
  stop(seconds: number): Promise<void>;
}

/** @param most texts at the same time */
export function createAdmission(most: number): Admission {
  const present = new Set<AbortController>();
  let texts = 0;
  let stopping = false;
  let onEmpty = (): void => {};
  return {
    get texts() {
      return texts;
    },
    enter() {
      if (stopping) throw STOPPED;
      if (texts >= most) {
        const problem = `the server has ${texts} texts to write, at most ${most}; try again later`;
        throw new ApiError(429, problem, null, 'busy');
      }
      texts += 1;
      let own = 1;
      const controller = new AbortController();
      present.add(controller);
      return {
        signal: controller.signal,
        cancel: () => controller.abort(),
        extend(more) {
          const taken = Math.min(more, most - texts);
          texts += taken;
          own += taken;
          return own;
        },
        leave() {
          controller.abort();
          present.delete(controller);
          texts -= own;
          own = 0;
          if (texts === 0) onEmpty();
        },
      };
    },
    async stop(seconds) {
      stopping = true;
      if (texts === 0) return;
      const empty = new Promise<void>((resolve) => {
        onEmpty = resolve;
      });
      const timer = setTimeout(() => {
        for (const controller of present) controller.abort();
      }, 1000 * seconds);
      await empty;
      clearTimeout(timer);
    },
  };
}
