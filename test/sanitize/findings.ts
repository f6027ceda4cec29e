/** Contents of a sanitizer's report. */
export interface Findings {
  /** Errors that ended a process: the whole report. */
  readonly errors: readonly string[];
  /** Stacks of memory that the addon allocated and never freed. */
  readonly leaks: readonly string[];
  /** Leaks of everything else, Node.js above all. */
  readonly foreignLeaks: number;
}

const LEAK = /^(?:Direct|Indirect) leak of /;
const FRAME = /#\d+ 0x[0-9a-f]+ .*\(([^()]+)\+0x[0-9a-f]+\)/g;
/** Between an allocation and its caller. */
const ALLOCATORS = /lib(?:asan|stdc\+\+|c)\.so/;

/**
 * Sorts the report of one process. A leak is the addon's if the addon itself asked for the memory: the first frame that
 * is no allocator's lies in it.
 * @param report as AddressSanitizer and LeakSanitizer write it with `symbolize=0`
 * @param addon the file's name
 */
export function findingsOf(report: string, addon: string): Findings {
  const isError = /ERROR: AddressSanitizer|runtime error: /.test(report);
  const leaks = report.split(/\n\n+/).filter((block) => LEAK.test(block));
  const ours = leaks.filter((block) => callerOf(block)?.endsWith(`/${addon}`) === true);
  return { errors: isError ? [report] : [], leaks: ours, foreignLeaks: leaks.length - ours.length };
}

/** The file whose code asked for the memory of a leak. */
function callerOf(block: string): string | undefined {
  return [...block.matchAll(FRAME)].map(([, file]) => file as string).find((file) => !ALLOCATORS.test(file));
}
