import type { PaperName } from '../comparison.ts';
import { helmStudy } from './helm-study.ts';
import { heterollmStudy } from './heterollm-study.ts';
import { primaStudy } from './prima-study.ts';
import type { Study } from './study.ts';

/** Factors applied to fitted and assumed values. */
export const FACTORS = [0.8, 0.9, 1.1, 1.2] as const;

export async function createStudy(paper: PaperName): Promise<Study> {
  switch (paper) {
    case 'prima':
      return primaStudy();
    case 'helm':
      return helmStudy();
    case 'heterollm':
      return heterollmStudy();
  }
}

/** Points of a study: everything as it is taken, then each parameter times each factor. */
export function pointCount({ parameters }: Study): number {
  return 1 + parameters.length * FACTORS.length;
}

/** A point by its number; `parameter` is undefined for the first. */
export function studyPoint(point: number): { readonly parameter: number | undefined; readonly factor: number } {
  if (point === 0) return { parameter: undefined, factor: 1 };
  const at = point - 1;
  return { parameter: Math.floor(at / FACTORS.length), factor: FACTORS[at % FACTORS.length] as number };
}
