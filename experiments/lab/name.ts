/** What everything that a lab makes outside of its folder is called: `hearth-lab-PID-START-PART`. */
export interface LabName {
  /** Of the process that made it. */
  readonly pid: number;
  /** When that process started, in ticks of the system's clock: numbers of processes are used again. */
  readonly start: string;
  readonly part: string;
}

/** @param part letters, digits and dashes: a device's name, or `switch` */
export function formatLabName({ pid, start, part }: LabName): string {
  return `hearth-lab-${pid}-${start}-${part}`;
}

/** Undefined for what no lab made. */
export function parseLabName(name: string): LabName | undefined {
  const [, pid, start, part] = /^hearth-lab-(\d+)-(\d+)-([\w-]+)$/.exec(name) ?? [];
  return pid === undefined || start === undefined || part === undefined ? undefined : { pid: Number(pid), start, part };
}

/**
 * Field 22 of /proc/PID/stat (proc_pid_stat(5)); the second, the program's name, may have spaces and brackets.
 * @throws RangeError for a text that is none
 */
export function processStart(stat: string): string {
  const field = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  if (field === undefined || !/^\d+$/.test(field)) throw new RangeError(`"${stat}" is no /proc/PID/stat`);
  return field;
}
