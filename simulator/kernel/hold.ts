import { checkAmount } from './amount.ts';
import { Effect, type Source } from './effect.ts';
import { seconds } from './text.ts';

/** Its detail is a duration in seconds; once the effect waits, the time at which it ends. */
const CLOCK: Source<number> = {
  begin(effect) {
    const { simulation, process } = effect.waiter;
    effect.detail += simulation.now;
    simulation.schedule(effect, effect.detail, process.priority);
  },
  due: (effect) => effect.resume(undefined),
  cancel: (effect) => effect.waiter.simulation.unschedule(effect),
  remaining: (effect) => (effect.state === 'new' ? effect.detail : effect.detail - effect.waiter.simulation.now),
  describe: (effect) => `the clock to reach ${seconds(effect.detail)}`,
};

/**
 * Waits for `duration` seconds; 0 lets those go first whose turn it is at this instant.
 * @throws RangeError if the duration is negative or not finite
 */
export function hold(duration: number): Effect<void, number> {
  return new Effect(CLOCK, checkAmount(duration, 'hold'));
}
