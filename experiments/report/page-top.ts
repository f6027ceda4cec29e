import { formatPercent } from '../../engine/input/format.ts';
import { median } from './median.ts';
import type { Page } from './page/page.ts';

/** First screen of a report, apart from its picture. */
export type PageTop = Required<Pick<Page, 'headline' | 'findings'>>;

/** Errors of the two computed answers for cells of one kind, as shares; at least one of each. */
export interface AnswerErrors {
  /** `tokens`, `prompts`. */
  readonly what: string;
  readonly predicted: readonly number[];
  readonly simulated: readonly number[];
  /** Median error that is aimed at. */
  readonly aim: number;
}

/** `11 % off in the median, 48 % at worst: tokens, predicted (simulated 11 and 48 %; aim 5.0 %).` */
export function errorLine({ what, predicted, simulated, aim }: AnswerErrors): string {
  const [off, worst] = [formatPercent(median(predicted)), formatPercent(Math.max(...predicted))];
  const other = `${formatPercent(median(simulated)).replace(' %', '')} and ${formatPercent(Math.max(...simulated))}`;
  return `${off} off in the median, ${worst} at worst: ${what}, predicted (simulated ${other}; aim ${formatPercent(aim)}).`;
}
