/** Errors of the operating system that the user can remedy, and what they mean. */
const REMEDIES: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full; free some space and run the same command again',
  EDQUOT: 'the quota of the disk is used up; free some space and run the same command again',
  EFBIG: 'the file has reached the largest size that is allowed here (ulimit -f)',
  EROFS: 'the file system can’t be written to; give a path on another one',
  EACCES: 'permission denied; give another path',
  EMFILE: 'too many open files; raise the limit (ulimit -n)',
  EIO: 'the disk reports an error',
};

/** The meaning of an error of the operating system, and its remedy, in one line; `undefined` for other errors. */
export function remedyOf(error: unknown): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  const remedy = code === undefined ? undefined : REMEDIES[code];
  return remedy === undefined ? undefined : `${remedy} (${code})`;
}

/** Why a file can't be written, for a message that begins with its path. */
export function writingProblem(error: unknown): string {
  const reason = remedyOf(error) ?? (error instanceof Error ? error.message : String(error));
  return `can’t be written: ${reason}`;
}
