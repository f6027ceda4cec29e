import { createProgress, type Progress } from '../../engine/terminal/progress.ts';
import { type LabSession, openSession, type SessionParts } from './session.ts';

/**
 * Opens a lab for `work` of so many steps, and closes it however that ends.
 * @throws InputError that says what this machine lacks for a lab
 */
export async function onLab<Result>(
  parts: SessionParts,
  steps: number,
  work: (session: LabSession, progress: Progress) => Promise<Result>,
): Promise<Result> {
  const progress = createProgress(steps);
  const session = await openSession(parts);
  try {
    return await work(session, progress);
  } finally {
    progress.stop();
    session.close();
  }
}
