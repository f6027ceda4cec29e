/** What the system says about itself: files of /proc and /sys on Linux, a program's words on macOS. */
export interface Host {
  readonly platform: string;
  /** Bytes of RAM installed. */
  readonly totalMemory: number;
  /** A file's text; undefined where it can't be read. */
  readonly readText: (path: string) => string | undefined;
  /** What the program `vm_stat` prints; undefined where there is none. */
  readonly vmStat: () => string | undefined;
}
