import { READ_METHODS } from '../../engine/experts/experts-policy.ts';
import { colour } from '../report/charts/colours.ts';
import { diagonalChart } from '../report/charts/scatter.ts';
import type { ChartBlock } from '../report/page/page.ts';
import type { ExpertsRow } from './answers.ts';
import { policyName } from './cells.ts';

/** Half the width of the band: no cell should be farther off. */
const AIM = 0.15;
const SYMBOLS = ['circle', 'square', 'diamond'] as const;

/** A token's simulated and predicted seconds against the measured ones, a mark for every policy. */
export function expertsPicture(rows: readonly ExpertsRow[]): ChartBlock {
  const figure = (whose: 'simulated' | 'predicted') =>
    diagonalChart({
      measuredTitle: 'measured, ms a token',
      foundTitle: `${whose}, ms a token`,
      aim: AIM,
      series: READ_METHODS.map((method, index) => {
        const own = rows.filter(({ policy, [whose]: found }) => policy.method === method && found !== undefined);
        return {
          ...{ name: method, colour: colour(index), symbol: SYMBOLS[index] as (typeof SYMBOLS)[number] },
          measured: own.map(({ measured }) => 1000 * measured.tokenSeconds),
          found: own.map((row) => 1000 * (row[whose]?.tokenSeconds ?? Number.NaN)),
          hover: own.map(({ policy }) => policyName(policy)),
        };
      }),
    });
  return {
    kind: 'chart',
    title: 'Seconds of a token, a mark for each policy',
    note: 'On the dashed line the answer is what was measured; above it the token was faster than that.',
    choose: 'answer',
    variants: [
      { label: 'simulated', figure: figure('simulated') },
      { label: 'predicted', figure: figure('predicted') },
    ],
  };
}
