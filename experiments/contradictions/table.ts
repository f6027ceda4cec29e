import type { ExpertsFinding } from '../../datasets/experts.ts';
import { type Judgement, judge } from './judge.ts';
import { simulatedValues, type Tools } from './values.ts';

/** One line of the table: a finding's series, as published and as simulated. */
export interface ContradictionRow {
  readonly finding: ExpertsFinding;
  readonly published: readonly (number | undefined)[];
  readonly simulated: readonly number[];
  readonly judgement: Judgement;
}

export function contradictionRow(finding: ExpertsFinding, tools: Tools): ContradictionRow {
  const published = finding.settings.map((setting) => setting.published);
  const simulated = simulatedValues(finding, tools);
  return { finding, published, simulated, judgement: judge(finding, published, simulated) };
}

export interface Counts {
  /** Series, and those whose sign and whose size are right. */
  readonly series: number;
  readonly signs: number;
  readonly sizes: number;
  /** Numbered findings, and those all of whose series have the right sign. */
  readonly findings: number;
  readonly findingsRight: number;
}

export function countRows(rows: readonly ContradictionRow[]): Counts {
  const numberOf = ({ finding }: ContradictionRow): string => finding.id.split(' ')[0] as string;
  const wrong = new Set(rows.filter(({ judgement }) => !judgement.isSignRight).map(numberOf));
  const all = new Set(rows.map(numberOf));
  return {
    series: rows.length,
    signs: rows.filter(({ judgement }) => judgement.isSignRight).length,
    sizes: rows.filter(({ judgement }) => judgement.isSizeRight).length,
    findings: all.size,
    findingsRight: all.size - wrong.size,
  };
}
