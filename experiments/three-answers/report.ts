import type { MeasuredCells } from '../lab/experiment.ts';
import { probesSection, resultBlocks } from '../lab/report.ts';
import type { Page } from '../report/page/page.ts';
import { scatter } from './scatter.ts';
import { AIM, FOUND, judged, QUANTITIES } from './summary.ts';

const NAMES = { seconds: 'TPOT', bytes: 'bytes read' } as const;

export function threeAnswersPage(measured: MeasuredCells): Pick<Page, 'title' | 'sections'> {
  const { results, model } = measured;
  const variants = QUANTITIES.flatMap((quantity) => {
    const own = judged(results, quantity, model.bytes);
    if (own.length === 0) return [];
    return FOUND.map((found) => ({ label: `${NAMES[quantity]}, ${found}`, figure: scatter(own, found, quantity) }));
  });
  return {
    title: 'A ring that does not fit: predicted, simulated, measured',
    sections: [
      {
        title: 'Every plan',
        blocks: [
          {
            kind: 'chart',
            title: 'Measured against predicted and simulated',
            note: `On the dashed line both agree; the grey band is ± ${100 * AIM.worst} %. Each mark is a plan.`,
            choose: 'Compare',
            variants,
          },
          ...resultBlocks(results, AIM),
        ],
      },
      probesSection(measured, results),
    ],
  };
}
