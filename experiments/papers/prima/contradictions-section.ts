import type { Section } from '../../lib/report.ts';
import { errorText, quantityText, systemName } from '../text.ts';
import { filled } from './filled-table.ts';
import type { Comparison } from './rules.ts';

/** Cells that other numbers of the paper exclude, with the arithmetic; no section where none is among the comparisons. */
export function contradictionsSection(comparisons: readonly Comparison[]): Section[] {
  const rows = comparisons.flatMap(({ contradiction, cell, policy, predicted, simulated, predictedError, ...one }) => {
    if (contradiction === undefined) return [];
    const { table, system, row, published, bound, text } = contradiction;
    const time = (seconds: typeof simulated): string => quantityText(cell.metric, seconds);
    return [
      [
        `${table}: ${row}, ${systemName(system)} (${policy?.name ?? ''})`,
        time(published),
        time(bound),
        time(predicted),
        errorText(cell.metric, predictedError),
        time(simulated),
        errorText(cell.metric, one.simulatedError),
        text,
      ],
    ];
  });
  if (rows.length === 0) return [];
  return [
    {
      title: 'Contradicted by the paper itself',
      blocks: [
        {
          kind: 'text',
          text: 'With the memory that Table 3 states these cells are impossible: under no plan and no way to reclaim does a token take less than what stands under "at least", for which every RAM and VRAM is full of weights, all disks read without a pause, and computing takes no time. They are shown under that memory, and not counted; with "D3 larger" both are possible.',
        },
        filled({
          kind: 'table',
          columns: [
            { title: 'cell' },
            { title: 'published', align: 'right' },
            { title: 'at least', align: 'right' },
            { title: 'predicted', align: 'right' },
            { title: 'error', align: 'right' },
            { title: 'simulated', align: 'right' },
            { title: 'error', align: 'right' },
            { title: 'arithmetic' },
          ],
          rows,
        }),
      ],
    },
  ];
}
