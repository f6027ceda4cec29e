import { InputError } from '../../../engine/input/input-error.ts';
import type { Frame, Results } from '../../report/experiment.ts';
import type { SweepOptions } from '../../sweep/options.ts';
import { sweepResults } from '../../sweep/results.ts';
import { printsInstead } from '../../sweep/run.ts';
import { createSweep } from '../../sweep/sweep.ts';
import type { PaperName } from '../comparison.ts';
import { type Answers, movedBy } from './moved.ts';
import { sensitivityResults } from './report.ts';
import { createStudy, pointCount } from './studies.ts';
import type { SensitivityPoints } from './sweep-points.ts';

/**
 * Carries out --sensitivity: answers every cell of a paper with each fitted or assumed value changed.
 * @throws InputError for `all`
 */
export async function runSensitivity(
  paper: PaperName | 'all',
  options: SweepOptions & { readonly out: string },
  { progress }: Frame,
): Promise<Results | undefined> {
  if (paper === 'all')
    throw new InputError('--sensitivity', 'is for one paper at a time; give prima, helm or heterollm');
  const study = await createStudy(paper);
  study.dispose();
  const sweep = createSweep('reproduce', { paper } satisfies SensitivityPoints, pointCount(study));
  if (await printsInstead(sweep, options, options.out)) return undefined;
  const points = await sweepResults<Answers>({ sweep, options, progress, noun: 'points' });
  return points === undefined ? undefined : sensitivityResults(paper, movedBy(study, points));
}
