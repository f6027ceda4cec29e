import { enumerate, formatPercent, formatSeconds } from '../../../engine/input/format.ts';
import { relativeErrorText } from '../text.ts';
import { systemName } from './quantities.ts';
import type { PrimaComparison } from './rules.ts';
import { claimedAccuracy, isMet, type Summary } from './summary.ts';

/** Sentences on how the comparisons meet the targets; every number is computed from them. */
export function primaFindings(comparisons: readonly PrimaComparison[], summaries: readonly Summary[]): string[] {
  const cells = new Set(comparisons.map(({ cell }) => cell)).size;
  const aimed = aimedColumns(summaries);
  const every = aimed.filter(({ policies }) => policies.every(isMet));
  const none = aimed.filter(({ policies }) => !policies.some(isMet));
  const some = aimed.filter((column) => !every.includes(column) && !none.includes(column));
  return [
    `${cells} cells. ${seenSentence(comparisons)}`,
    ...targetsSentence('Targets that are kept', every),
    ...targetsSentence('Kept under one policy and not under another', some),
    ...targetsSentence('Missed', none),
    ...contradictedSentence(comparisons),
  ];
}

/** Number of cells that decided values of the testbeds (datasets/testbeds.ts). */
function seenSentence(comparisons: readonly PrimaComparison[]): string {
  const seen = new Set(comparisons.flatMap(({ cell, detail }) => (detail.seen ? [cell] : []))).size;
  return `${seen} of them decided what the paper leaves open about its testbeds, and test nothing; no other constant was fitted to a time.`;
}

/** `Contradicted by the paper itself, and not counted: Table 9 prima.cpp at 72B (867 ms, where no plan …)`. */
function contradictedSentence(comparisons: readonly PrimaComparison[]): string[] {
  const found = new Set(comparisons.flatMap(({ detail }) => detail.contradiction ?? []));
  if (found.size === 0) return [];
  const texts = [...found].map(
    ({ table, system, row, published, bound }) =>
      `Table ${table} ${systemName(system)} at ${row} (${formatSeconds(published)}, where with the memory that is stated no plan takes less than ${formatSeconds(bound)})`,
  );
  return [`Contradicted by the paper itself, and not counted: ${texts.join('; ')}.`];
}

/** A column of a table with a target, under its claimed policies. */
interface AimedColumn {
  readonly name: string;
  readonly policies: readonly Summary[];
}

function aimedColumns(summaries: readonly Summary[]): AimedColumn[] {
  const columns = new Map<string, Summary[]>();
  for (const summary of summaries) {
    if (summary.target === undefined || isMet(summary) === undefined) continue;
    const name = `Table ${summary.table} ${systemName(summary.system)} (${formatPercent(summary.target.limit)})`;
    columns.set(name, [...(columns.get(name) ?? []), summary]);
  }
  return [...columns].map(([name, policies]) => ({ name, policies }));
}

/** `Missed: Table 8 llama.cpp (5.0 %): at worst +9.1 % under "lru" and −3.8 % under "lru, read ahead", predicted.` */
function targetsSentence(start: string, columns: readonly AimedColumn[]): string[] {
  if (columns.length === 0) return [];
  const texts = columns.map(({ name, policies }) => {
    const errors = policies.map(
      (one) => `${relativeErrorText(claimedAccuracy(one)?.worst ?? 0)} under "${one.policy}"`,
    );
    return `${name}: at worst ${enumerate(errors)}, ${policies[0]?.answer}`;
  });
  return [`${start}: ${texts.join('; ')}.`];
}
