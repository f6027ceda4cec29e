import type { Section } from '../../lib/report.ts';
import { quantityText, rangeText, systemName } from '../text.ts';
import { filled } from './filled-table.ts';
import { type Sensitivity, UNCERTAIN_INPUTS } from './sensitivity.ts';

/** The largest misses with every uncertain input at both its ends. */
export function sensitivitySection(sensitivities: readonly Sensitivity[]): Section {
  const reasons = UNCERTAIN_INPUTS.map(({ name, reason }) => `${name}: ${reason}`).join('; ');
  return {
    title: 'What uncertain inputs do to the largest misses',
    blocks: [
      {
        kind: 'text',
        text: `Columns with a target only. Each input is set to both ends of what it may be, one at a time; the answer is the one that is claimed for the system. The schedulers see the changed input, but for the RAM of D3. Why each is uncertain: ${reasons}.`,
      },
      filled({
        kind: 'table',
        columns: [
          { title: 'cell' },
          { title: 'published', align: 'right' },
          { title: 'here', align: 'right' },
          ...UNCERTAIN_INPUTS.map(({ name, ends }) => ({
            title: `${name} ${ends.join('…')}`,
            align: 'right' as const,
          })),
        ],
        rows: sensitivities.map(({ comparison, base, ranges }) => {
          const { table, cell, policy, published } = comparison;
          const text = (quantity: typeof base): string => quantityText(cell.metric, quantity);
          return [
            `${table.number}: ${cell.row}, ${systemName(cell.system)} (${policy?.name ?? ''})`,
            text(published),
            text(base),
            ...ranges.map((range) => (range === undefined ? '' : rangeText(cell.metric, range))),
          ];
        }),
      }),
    ],
  };
}
