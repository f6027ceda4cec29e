import { Effect, type Source } from './effect.ts';
import { checkAmount, seconds } from './errors.ts';

/** The effect's detail is the time at which the wait ends. */
const UNTIL: Source<number> = {
  begin: (effect) => effect.waiter.clock.schedule(effect, effect.detail, effect.waiter.priority),
  due: (effect) => effect.resume(undefined),
  cancel: (effect) => effect.waiter.clock.unschedule(effect),
  remaining: (effect) => (effect.state === 'new' ? undefined : effect.detail - effect.waiter.clock.now),
  describe: (effect) => `the clock to reach ${seconds(effect.detail)}`,
};

/** The effect's detail is a duration in seconds; once the effect waits, the time at which it ends. */
const DURATION: Source<number> = {
  ...UNTIL,
  begin(effect) {
    effect.detail += effect.waiter.clock.now;
    UNTIL.begin(effect);
  },
  remaining: (effect) => (effect.state === 'new' ? effect.detail : UNTIL.remaining?.(effect)),
};

/**
 * Waits for `duration` seconds. With 0, everything that is already due at this instant goes first.
 * @throws RangeError if the duration is negative or not finite
 */
export function hold(duration: number): Effect<void, number> {
  return new Effect(DURATION, checkAmount(duration, 'hold'));
}

/**
 * Waits until the clock stands at `time`, which must not lie in the past. Several holds in a row end at the same time,
 * to the last bit, as one `holdUntil` whose time is the sum of their durations added one by one.
 */
export function holdUntil(time: number): Effect<void, number> {
  return new Effect(UNTIL, time);
}
