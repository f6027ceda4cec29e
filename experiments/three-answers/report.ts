import { probesSection } from '../lab/probes-section.ts';
import { resultTables } from '../lab/report.ts';
import type { CellResult } from '../lab/run-cell.ts';
import type { LabSession } from '../lab/session.ts';
import type { Report } from '../lib/report.ts';
import { scatter } from './scatter.ts';
import { AIM, FOUND, findings, judged, QUANTITIES } from './summary.ts';

const NAMES = { seconds: 'TPOT', bytes: 'bytes read' } as const;

export function threeAnswersReport(session: LabSession, results: readonly CellResult[], subtitle: string): Report {
  const { bytes } = session.model;
  const variants = QUANTITIES.flatMap((quantity) => {
    const own = judged(results, quantity, bytes);
    if (own.length === 0) return [];
    return FOUND.map((found) => ({ label: `${NAMES[quantity]}, ${found}`, figure: scatter(own, found, quantity) }));
  });
  return {
    title: 'A ring that does not fit: predicted, simulated, measured',
    subtitle,
    summary: findings(results, bytes),
    sections: [
      {
        title: 'Every plan',
        blocks: [
          {
            kind: 'chart',
            title: 'Measured against what was found without measuring',
            note: `On the dashed line both agree; the grey band is ± ${100 * AIM.worst} %. A mark is a plan.`,
            choose: 'Compare',
            variants,
          },
          ...resultTables(results, AIM),
        ],
      },
      probesSection(session, results),
    ],
  };
}
