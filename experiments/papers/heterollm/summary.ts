import { median } from '../../lib/median.ts';
import type { SocComparison } from './comparisons.ts';

/** What the tables come to, in a few sentences. */
export function summaryOf(comparisons: readonly SocComparison[]): string {
  const held = comparisons.filter(({ isFitted }) => !isFitted);
  const errors = (answer: 'predictedError' | 'simulatedError'): string => {
    const sizes = held.map((one) => Math.abs(one[answer]));
    const worst = held.reduce((one, other) => (Math.abs(other[answer]) > Math.abs(one[answer]) ? other : one));
    return `median ${(100 * median(sizes)).toFixed(1)} %, worst ${(100 * Math.abs(worst[answer])).toFixed(0)} % (${worst.cell.row}: ${worst.cell.column})`;
  };
  const aimed = comparisons.filter(({ rule }) => rule.target !== undefined);
  const kept = (answer: 'predictedError' | 'simulatedError'): number =>
    aimed.filter((one) => Math.abs(one[answer]) <= (one.rule.target as number)).length;
  return [
    `Of ${comparisons.length} figures, ${held.length} are held out. Predicted: ${errors('predictedError')}. Simulated: ${errors('simulatedError')}.`,
    `Of ${aimed.length} with a target, ${kept('predictedError')} keep it as predicted and ${kept('simulatedError')} as simulated.`,
    'Decoding has one fitted constant (the time of a hand-over), prefill one (the NPU’s rate), graph generation two, power three; each other engine has two rates.',
  ].join(' ');
}
