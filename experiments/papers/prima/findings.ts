import { enumerate, formatPercent, formatSeconds } from '../../../engine/terminal/format.ts';
import { systemName, timeErrorText } from '../text.ts';
import type { Comparison } from './rules.ts';
import { claimedAccuracy, isMet, type Summary } from './summaries.ts';

/** What the comparisons say about the targets, sentence by sentence; every number is computed from them. */
export function reproductionFindings(comparisons: readonly Comparison[], summaries: readonly Summary[]): string[] {
  const cells = new Set(comparisons.map(({ cell }) => cell)).size;
  const columns = columnsOf(summaries);
  const every = columns.filter(({ policies }) => policies.every(isMet));
  const none = columns.filter(({ policies }) => !policies.some(isMet));
  const some = columns.filter((column) => !every.includes(column) && !none.includes(column));
  return [
    `${cells} cells; no constant was fitted to any time.`,
    ...sentence('Targets that are kept', every),
    ...sentence('Kept under one policy and not under another', some),
    ...sentence('Missed', none),
    ...contradicted(comparisons),
  ];
}

/** `Contradicted by the paper itself, and not counted: Table 9 prima.cpp at 72B (867 ms, where no plan …)`. */
function contradicted(comparisons: readonly Comparison[]): string[] {
  const found = new Set(comparisons.flatMap(({ contradiction }) => contradiction ?? []));
  if (found.size === 0) return [];
  const texts = [...found].map(
    ({ table, system, row, published, bound }) =>
      `Table ${table} ${systemName(system)} at ${row} (${formatSeconds(published)}, where with the memory that is stated no plan takes less than ${formatSeconds(bound)})`,
  );
  return [`Contradicted by the paper itself, and not counted: ${texts.join('; ')}.`];
}

/** A column of a table with a target, under its claimed policies. */
interface Column {
  readonly name: string;
  readonly policies: readonly Summary[];
}

function columnsOf(summaries: readonly Summary[]): Column[] {
  const columns = new Map<string, Summary[]>();
  for (const summary of summaries) {
    if (summary.target === undefined || isMet(summary) === undefined) continue;
    const name = `Table ${summary.table} ${systemName(summary.system)} (${formatPercent(summary.target.limit)})`;
    columns.set(name, [...(columns.get(name) ?? []), summary]);
  }
  return [...columns].map(([name, policies]) => ({ name, policies }));
}

function sentence(start: string, columns: readonly Column[]): string[] {
  return columns.length === 0 ? [] : [`${start}: ${columns.map(columnText).join('; ')}.`];
}

/** `Table 8 llama.cpp (5.0 %): at worst +9.1 % under "lru" and −3.8 % under "lru, read ahead", predicted`. */
function columnText({ name, policies }: Column): string {
  const errors = policies.map((one) => `${timeErrorText(claimedAccuracy(one)?.worst ?? 0)} under "${one.policy}"`);
  return `${name}: at worst ${enumerate(errors)}, ${policies[0]?.answer}`;
}
