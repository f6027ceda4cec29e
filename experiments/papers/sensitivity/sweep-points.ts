import { z } from 'zod';
import type { Evaluate } from '../../sweep/sweep.ts';
import type { PaperName } from '../comparison.ts';
import { createStudy, studyPoint } from './studies.ts';

export interface SensitivityPoints {
  readonly paper: PaperName;
}

/** Answers of all cells, `null` where there is no number. */
export const RESULT = z.array(z.number().nullable());

export default async function createEvaluate(setting: unknown): Promise<Evaluate> {
  const study = await createStudy((setting as SensitivityPoints).paper);
  return (point) => {
    const { parameter, factor } = studyPoint(point);
    return study.answers(parameter, factor);
  };
}
