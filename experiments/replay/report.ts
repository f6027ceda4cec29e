import type { Statement } from '../../datasets/statements.ts';
import { formatDeviation, formatSeconds } from '../../engine/terminal/format.ts';
import type { TableColumn } from '../../engine/terminal/table.ts';
import { decodedTokens } from '../../engine/trace/excerpt.ts';
import { provenanceSentence, statementsTable } from '../lib/provenance.ts';
import type { Report, ReportColumn } from '../lib/report.ts';
import { HOW_TO_READ, timelineBlocks } from '../timeline/blocks.ts';
import type { Replay } from './replay.ts';
import { DEVICE_COLUMNS, deviceRows, SUMMARY_COLUMNS, summaryRows } from './table.ts';

export interface ReplayReport {
  readonly run: Replay;
  readonly subtitle: string;
  readonly statements: readonly Statement[];
  /** Tokens that the timeline shows, the last ones. */
  readonly show: number;
}

/** The page of a replay: what the tokens took, what each device did, and when. */
export function replayReport({ run, subtitle, statements, show }: ReplayReport): Report {
  const { simulated, workload } = run;
  const first = Math.max(0, workload.outputTokens - show);
  const title =
    first === workload.outputTokens - 1 ? 'The last token' : `The last ${workload.outputTokens - first} tokens`;
  return {
    title: `${run.model.name} on ${run.cluster.name}, event by event`,
    subtitle,
    summary: findings(run),
    sections: [
      {
        title: 'Predicted and simulated',
        blocks: [
          { kind: 'table', columns: SUMMARY_COLUMNS.map(reportColumn), rows: summaryRows(run) },
          {
            kind: 'table',
            title: 'Devices, over the whole run',
            columns: DEVICE_COLUMNS.map(reportColumn),
            rows: deviceRows(run),
          },
        ],
      },
      {
        title: 'What happened when',
        blocks: [
          { kind: 'text', text: HOW_TO_READ },
          ...timelineBlocks([{ title, trace: decodedTokens(simulated.trace, first, show) }]),
        ],
      },
      {
        title: 'What this rests on',
        blocks: [
          { kind: 'text', text: provenanceSentence(run.cluster.name, statements) },
          statementsTable(run.cluster.name, statements),
        ],
      },
    ],
  };
}

/** What the simulation adds to the prediction, in a sentence or two. */
export function findings({ predicted, simulated, metrics }: Replay): string {
  const { tokenSeconds = Number.NaN } = metrics;
  const stalls = metrics.devices.reduce((sum, { stallSeconds }) => sum + stallSeconds, 0);
  const disk = simulated.devices.reduce((sum, { diskSeconds }) => sum + diskSeconds, 0);
  const token = `A simulated token takes ${formatSeconds(tokenSeconds)}, ${formatDeviation(tokenSeconds / predicted.tokenSeconds)} against the closed forms, in which nothing overlaps.`;
  if (disk === 0) return `${token} Nothing is read from a disk.`;
  const hidden = percent(Math.max(0, 1 - stalls / disk));
  return `${token} Of the time in which disks read, ${hidden} are hidden behind other work; ${percent(stalls / metrics.seconds)} of the run, computations wait for a disk.`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`;
}

function reportColumn({ title, align }: TableColumn): ReportColumn {
  return { title: title.replace('-\n', '').replaceAll('\n', ' '), ...(align !== undefined && { align }) };
}
