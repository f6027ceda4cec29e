import type { HelmReproduction } from './compute.ts';
import { FITTED_CELLS } from './fitted-cells.ts';
import { helmCells } from './reproduced.ts';

/** cells.json: cells in the units that they are printed in, constants, splits, conflicts, and where inputs come from. */
export function helmJson(result: HelmReproduction): string {
  const { comparisons, constants, splits, summary, conflicts, clusters } = result;
  const cells = helmCells(result);
  const all = {
    experiment: 'reproduce',
    paper: 'helm',
    constants,
    fitted: FITTED_CELLS,
    splits,
    summary,
    cells: comparisons.map(({ quantity, plan, range, thesis }, index) => ({
      ...cells[index],
      quantity,
      thesis,
      printedRange: range,
      ...(plan?.outcome === 'runs' ? { plan: plan.plan } : { why: plan?.why ?? 'not modelled' }),
    })),
    conflicts,
    provenance: Object.fromEntries([...clusters].map(([name, { statements }]) => [name, statements])),
  };
  return `${JSON.stringify(all, null, 2)}\n`;
}
