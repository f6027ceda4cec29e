import type { ReproducedCell, SummaryRow } from './comparison.ts';
import { computeHelm, type HelmReproduction } from './helm/compute.ts';
import { helmCells } from './helm/reproduced.ts';
import { computeHeterollm, type HeterollmReproduction } from './heterollm/compute.ts';
import { heterollmCells, heterollmRows } from './heterollm-rows.ts';
import { primaOptions } from './options.ts';
import { computePrima, type PrimaReproduction } from './prima/compute.ts';
import { primaCells, primaRows } from './prima-rows.ts';

/** All papers’ cells, each paper by itself and in one form. */
export interface Reproduction {
  readonly prima: PrimaReproduction;
  readonly helm: HelmReproduction;
  readonly heterollm: HeterollmReproduction;
  readonly cells: readonly ReproducedCell[];
  readonly summary: readonly SummaryRow[];
}

/** Reproduces everything, with the options of the papers’ own runs as they are unless given. */
export async function computeAll(step: (label: string) => void): Promise<Reproduction> {
  const prima = await computePrima(primaOptions({ seed: 0, json: false }), () => step);
  const helm = computeHelm(step);
  const heterollm = computeHeterollm(step);
  return {
    prima,
    helm,
    heterollm,
    cells: [...primaCells(prima), ...helmCells(helm), ...heterollmCells(heterollm)],
    summary: [...primaRows(prima), ...helm.summary, ...heterollmRows(heterollm)],
  };
}
