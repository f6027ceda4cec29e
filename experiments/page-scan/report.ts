import { formatBytes, formatPercent, formatSeconds } from '../../engine/input/format.ts';
import { type Column, terminalTable } from '../report/columns.ts';
import type { ComparedRecord, PageScanRecord, ScannedSize } from './record.ts';
import { COMPARED_POLICIES, type ComparedPolicy, laterReads, policyOfSystem, simulatedReads } from './simulated.ts';

/** Lines about a scan for a terminal. */
export function scanText({ system, settings, sizes, leftOut }: PageScanRecord): string[] {
  const { platform, release, rule } = system;
  return [
    `${platform} ${release}, ${formatBytes(settings.memory)} of memory (${rule}), scans by ${settings.by}`,
    ...(sizes.length > 0 ? ['', terminalTable({ columns: scanColumns(settings.scans), rows: sizes }).trimEnd()] : []),
    '',
    ...sizes.map(findingOf),
    ...leftOut.map(({ share, reason }) => `A file of ${formatPercent(share)} of the memory was left out: ${reason}.`),
  ];
}

function findingOf({ share, judgedBy, scans }: ScannedSize): string {
  const size = `A file of ${formatPercent(share)} of the memory`;
  const last = scans.at(-1)?.read;
  if (last === undefined)
    return `${size} is scanned in about the same time again and again: times don’t tell memory from disk.`;
  return `${size}: the last scan read ${formatPercent(last)} of it from the disk (by ${judgedBy}).`;
}

const SHARE: Column<{ readonly share: number }> = {
  title: 'file ÷ memory',
  value: ({ share }) => share,
  text: ({ share }) => formatPercent(share),
  align: 'right',
};

function scanColumns(scans: number): Column<ScannedSize>[] {
  const column = (scan: number): Column<ScannedSize> => ({
    title: `read by scan ${scan + 1}`,
    value: (row) => row.scans[scan]?.read,
    text: (row) => readText(row.scans[scan]),
    align: 'right',
  });
  return [SHARE, ...Array.from({ length: scans }, (_, scan) => column(scan))];
}

function readText(scan: ScannedSize['scans'][number] | undefined): string {
  if (scan === undefined) return '–';
  return `${scan.read === undefined ? '–' : formatPercent(scan.read)} ${formatSeconds(scan.seconds)}`;
}

/** Mean shares of the file that the scans of one size read, without the first scan. */
export interface ComparedSize {
  readonly share: number;
  /** `undefined` where nothing told. */
  readonly measured: number | undefined;
  readonly simulated: Readonly<Record<ComparedPolicy, number>>;
}

/** A record compared with the simulator's policies. */
export interface Comparison {
  readonly sizes: readonly ComparedSize[];
  /** Policies with the mean of their differences from what was measured, as shares of the file, the nearest first. */
  readonly differences: readonly { readonly policy: ComparedPolicy; readonly mean: number }[];
  /** The policy that Hearth simulates this system with. */
  readonly policy: ComparedPolicy;
}

export function compared(record: ComparedRecord): Comparison {
  const sizes = record.sizes
    .toSorted((one, other) => one.share - other.share)
    .map((size): ComparedSize => {
      const later = COMPARED_POLICIES.map((name) => [name, laterReads(simulatedReads(record, size, name)) ?? 0]);
      return {
        share: size.share,
        measured: laterReads(size.scans.map(({ read }) => read)),
        simulated: Object.fromEntries(later) as ComparedSize['simulated'],
      };
    });
  const told = sizes.filter(({ measured }) => measured !== undefined);
  const differences = COMPARED_POLICIES.map((policy) => {
    const sum = told.reduce((total, one) => total + Math.abs(one.simulated[policy] - (one.measured as number)), 0);
    return { policy, mean: told.length === 0 ? Number.NaN : sum / told.length };
  });
  return {
    sizes,
    differences: told.length === 0 ? [] : differences.toSorted((one, other) => one.mean - other.mean),
    policy: policyOfSystem(record.system),
  };
}

/** Lines about a comparison for a terminal. */
export function comparisonText(record: ComparedRecord, { sizes, differences, policy }: Comparison): string[] {
  const { platform, release } = record.system;
  const columns: Column<ComparedSize>[] = [
    SHARE,
    readColumn('measured', ({ measured }) => measured),
    ...COMPARED_POLICIES.map((name) => readColumn(name, ({ simulated }) => simulated[name])),
  ];
  return [
    `${platform} ${release}: share of the file that a scan after the first reads, measured and simulated by policy`,
    '',
    terminalTable({ columns, rows: sizes }).trimEnd(),
    '',
    findingText(differences, policy),
  ];
}

function findingText(differences: Comparison['differences'], policy: ComparedPolicy): string {
  const [nearest] = differences;
  const own = differences.find((one) => one.policy === policy);
  if (nearest === undefined || own === undefined)
    return 'Nothing told what came from the disk, so no policy can be compared.';
  const off = ({ mean }: typeof own): string => `off by ${formatPercent(mean)} of the file in the mean`;
  const names = differences.filter(({ mean }) => mean - nearest.mean < 0.005).map((one) => one.policy);
  const best = `The nearest policy is ${names.join(' or ')}, ${off(nearest)}`;
  return names.includes(policy)
    ? `${best}; Hearth simulates this system with ${policy}.`
    : `${best}; Hearth simulates this system with ${policy}, ${off(own)}.`;
}

function readColumn(title: string, value: (row: ComparedSize) => number | undefined): Column<ComparedSize> {
  return { title, value, text: (row) => percentText(value(row)), align: 'right' };
}

function percentText(value: number | undefined): string {
  return value === undefined ? '–' : formatPercent(value);
}
