import { policyName } from '../../datasets/lab/cell.ts';
import { clusterStatements } from '../../datasets/statements.ts';
import { formatBytes, formatSeconds } from '../../engine/input/format.ts';
import { NOT_COUNTED, type TokenFigures } from '../../engine/trace/token-figures.ts';
import { type Column, type Table, tableBlock } from '../report/columns.ts';
import type { Section, TableBlock, Tone } from '../report/page/page.ts';
import { provenanceSentence, statementsTable } from '../report/provenance.ts';
import { limitChecks } from './limit-checks.ts';
import type { CellResult, ComparedCell } from './run-cells.ts';
import type { LabSession } from './session.ts';

/** The facts about a lab that a report needs; the lab itself may be closed. */
export type LabDescription = Pick<LabSession, 'model' | 'facts' | 'profile'>;

/** The errors of simulated figures that an experiment aims for, as shares. */
export interface Aim {
  readonly median: number;
  readonly worst: number;
}

type ResultColumn = Column<ComparedCell>;

const each = (values: readonly (string | number)[]): string => [...new Set(values)].join('/');

const CELL_COLUMNS: readonly ResultColumn[] = [
  { title: 'policy', value: ({ cell }) => policyName(cell.policy), label: true },
  { title: 'k', value: ({ cell }) => cell.rounds, unit: 'count' },
  { title: 'windows', value: ({ cell }) => each(cell.windows), align: 'right' },
  {
    title: 'in memory',
    value: ({ cell }) => `${each(cell.memoryShares.map((share) => Math.round(100 * share)))} %`,
    align: 'right',
  },
  {
    title: 'disk',
    value: ({ cell }) => `${each(cell.diskRates.map((rate) => Math.round(rate / 1e6)))} MB/s`,
    align: 'right',
  },
];

const timeColumns = (aim?: Aim): readonly ResultColumn[] => [
  { title: 'measured TPOT', value: ({ measured }) => measured.seconds, unit: 'seconds' },
  { title: 'simulated', value: ({ simulated }) => simulated.seconds, unit: 'seconds' },
  errorColumn('simulated', 'seconds', aim),
  { title: 'predicted with overlap', value: ({ overlapped }) => overlapped.seconds, unit: 'seconds' },
  errorColumn('overlapped', 'seconds', aim),
  { title: 'predicted (A.3)', value: ({ predicted }) => predicted.seconds, unit: 'seconds' },
  errorColumn('predicted', 'seconds', aim),
];

const RANGE_COLUMNS: readonly ResultColumn[] = [
  { title: 'simulated, least', value: ({ range }) => range?.least, unit: 'seconds' },
  { title: 'simulated, most', value: ({ range }) => range?.most, unit: 'seconds' },
];

const readColumns = (aim?: Aim): readonly ResultColumn[] => [
  { title: 'measured bytes', value: ({ measured }) => measured.bytes, unit: 'bytes' },
  { title: 'simulated', value: ({ simulated }) => simulated.bytes, unit: 'bytes' },
  errorColumn('simulated', 'bytes', aim),
  { title: 'measured stall', value: ({ measured }) => measured.stall, unit: 'seconds' },
  { title: 'simulated', value: ({ simulated }) => simulated.stall, unit: 'seconds' },
];

/**
 * Deviation of an answer from the measured figure; empty where nothing was measured.
 * @param aim colours errors: within the aim for the median, within the worst, beyond
 */
function errorColumn(
  answer: 'simulated' | 'overlapped' | 'predicted',
  quantity: Exclude<keyof TokenFigures, 'stall'>,
  aim: Aim | undefined,
): ResultColumn {
  const ratio = ({ measured, [answer]: found }: ComparedCell): number | undefined =>
    measured[quantity] === 0 ? undefined : found[quantity] / measured[quantity];
  const tone = (result: ComparedCell): Tone | undefined => {
    const found = ratio(result);
    if (found === undefined || aim === undefined) return undefined;
    const error = Math.abs(found - 1);
    return error <= aim.median ? 'good' : error <= aim.worst ? 'fair' : 'bad';
  };
  return { title: 'error', value: ratio, unit: 'deviation', ...(aim && { tone }) };
}

/** The three answers to each cell, with time and bytes of a token and how long processors waited, in one table. */
export function resultTable(rows: readonly ComparedCell[]): Table<ComparedCell> {
  const ranges = rows.some(({ range }) => range !== undefined) ? RANGE_COLUMNS : [];
  return { columns: [...CELL_COLUMNS, ...timeColumns(), ...ranges, ...readColumns()], rows };
}

/** The same in two tables for a page, which is too narrow for one. */
export function resultBlocks(rows: readonly CellResult[], aim?: Aim): TableBlock[] {
  const block = (title: string, columns: readonly ResultColumn[]): TableBlock =>
    tableBlock({ columns: [...CELL_COLUMNS, ...columns], rows, groups: true }, { title });
  return [
    block('Time per output token', timeColumns(aim)),
    block('What is read for a token, and waited for', readColumns(aim)),
  ];
}

export interface RingSubtitle {
  /** Memory for weights, as a share of each device's weights. */
  readonly memoryShare: number;
  /** Rate of the disks, as it was given. */
  readonly disk: string;
  readonly tokens: number;
}

/** The run in one line: a model in equal parts on four devices. */
export function ringSubtitle({ model }: LabDescription, { memoryShare, disk, tokens }: RingSubtitle): string {
  return [
    `${model.name} in equal parts on four devices with memory for ${Math.round(100 * memoryShare)} % of theirs`,
    `disks of ${disk}`,
    `${tokens} tokens, ${NOT_COUNTED}`,
  ].join(' · ');
}

/** The last section of a report: the probed facts, and whether the lab kept to its limits. */
export function probesSection({ facts, model, profile }: LabDescription, results: readonly CellResult[]): Section {
  const statements = clusterStatements(JSON.parse(profile));
  const own = `${formatBytes(Math.min(...facts.ownBytes))} to ${formatBytes(Math.max(...facts.ownBytes))}`;
  const probes =
    `${model.name} (random weights, F16, ${formatBytes(model.bytes)}) on ${facts.ownBytes.length} devices that share ` +
    `this machine’s processors. Probes, before the first cell: a hop takes ${formatSeconds(facts.hopSeconds)}; with ` +
    `everything in memory a token takes ${formatSeconds(facts.tokenSeconds)}; in addition to its weights a device takes ${own}, ` +
    `which is added to its limit; Linux reads ${formatBytes(facts.readAhead)} ahead of page faults.`;
  return {
    title: 'What this rests on',
    blocks: [
      { kind: 'text', text: probes },
      { kind: 'text', text: `The lab’s own limits: ${limitChecks(results).text}.` },
      { kind: 'text', text: provenanceSentence('The processor', statements) },
      statementsTable('the processor', statements),
    ],
  };
}

/** Results without their traces, with what they rest on, for JSON. */
export function resultsData(
  { model, facts }: Pick<LabDescription, 'model' | 'facts'>,
  results: readonly CellResult[],
  settings: Readonly<Record<string, unknown>>,
): unknown {
  const cells = results.map(({ traces: _, cell: { policy, ...cell }, ...rest }) => ({
    cell: { ...cell, ...policy },
    ...rest,
  }));
  return { settings, probes: { ...facts, model: model.name, modelBytes: model.bytes }, cells };
}
