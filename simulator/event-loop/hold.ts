import { checkAmount } from './amount.ts';
import { Effect, type Source } from './effect.ts';
import { CLOCK } from './hold-until.ts';

/** Its detail is a duration in seconds; once the effect waits, the time at which it ends. */
const DURATION: Source<number> = {
  ...CLOCK,
  begin(effect) {
    effect.detail += effect.waiter.simulation.now;
    CLOCK.begin(effect);
  },
  remaining: (effect) => (effect.state === 'new' ? effect.detail : CLOCK.remaining?.(effect)),
};

/**
 * Waits for `duration` seconds; 0 lets those go first whose turn it is at this instant.
 * @throws RangeError if the duration is negative or not finite
 */
export function hold(duration: number): Effect<void, number> {
  return new Effect(DURATION, checkAmount(duration, 'hold'));
}
