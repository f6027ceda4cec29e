import { Effect, type Source } from './effect.ts';
import { seconds } from './text.ts';

/** Its detail is the time at which the wait ends. */
export const CLOCK: Source<number> = {
  begin(effect) {
    const { simulation, process } = effect.waiter;
    simulation.schedule(effect, effect.detail, process.priority);
  },
  due: (effect) => effect.resume(undefined),
  cancel: (effect) => effect.waiter.simulation.unschedule(effect),
  remaining: (effect) => (effect.state === 'new' ? undefined : effect.detail - effect.waiter.simulation.now),
  describe: (effect) => `the clock to reach ${seconds(effect.detail)}`,
};

/**
 * Waits until the clock stands at `time`. Several holds in a row come to the same, to the last bit, if their durations
 * are added to the time one by one. It must not lie in the past.
 */
export function holdUntil(time: number): Effect<void, number> {
  return new Effect(CLOCK, time);
}
