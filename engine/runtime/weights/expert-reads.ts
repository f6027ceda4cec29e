import type { PageJob, PageOutcome } from '../../kernels/file-pages.ts';
import type { RunRecorder } from '../../trace/run-recorder.ts';

/** Reads of the matrices of one expert. */
export interface ExpertRead {
  readonly jobs: readonly PageJob[];
  readonly what: string;
}

/** Whether all of an expert's reads have ended. */
export function isRead({ jobs }: ExpertRead): boolean {
  return jobs.every((job) => job.poll() !== undefined);
}

/** Waits for an expert's reads and records them. */
export function finishRead(
  { jobs, what }: ExpertRead,
  recorder: Pick<RunRecorder, 'span'> | undefined,
): readonly PageOutcome[] {
  const outcomes = jobs.map((job) => job.wait());
  for (const { start, end, bytes } of outcomes)
    recorder?.span({ lane: 'disk', cause: 'disk', name: 'prefetch', start, end, args: { bytes, what } });
  return outcomes;
}

/**
 * Waits for the first of some experts, in the order in which their reads were started, and takes those after it that
 * have come meanwhile.
 * @param late experts that are awaited; those that have come are taken out of it
 * @returns those, and the seconds that were waited
 */
export function nextRead<Key>(
  late: Map<Key, ExpertRead>,
  finish: (key: Key, read: ExpertRead) => void,
): { readonly come: readonly Key[]; readonly waited: number } {
  const begin = performance.now();
  const come: Key[] = [];
  for (const [key, read] of late) {
    if (come.length > 0 && !isRead(read)) continue;
    finish(key, read);
    late.delete(key);
    come.push(key);
  }
  return { come, waited: (performance.now() - begin) / 1000 };
}
