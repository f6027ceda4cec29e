import { CAUSES } from '../../engine/cost/breakdown.ts';
import { formatBytes, formatDeviation, formatSeconds } from '../../engine/input/format.ts';
import { type Plan, planShares } from '../../engine/plan/plan.ts';
import { layersText } from '../../engine/plan/plan-text.ts';
import { wrapText } from '../../engine/terminal/table.ts';
import { type Column, type Table, terminalTable } from '../report/columns.ts';
import { placeOf, planOf, planPath, publishedRatio, simulatedRatio } from './results.ts';
import type { Outcome, SweepRow } from './sweep.ts';

/** Width of the table where the terminal's is unknown. */
const WIDTH = 120;

export const FIT_NOTE = '* a cell that constants may be fitted to, so it tests nothing';

/** Runs by model and scheduler: the table for readers, and results.csv in SI units. */
export function tableOf(rows: readonly SweepRow[]): Table<SweepRow> {
  return { columns: columnsOf(messagesOf(rows)), rows, groups: true, sparse: true };
}

/** The sweep of one cluster for the terminal; below it, why rows have no plan. */
export function sweepText(rows: readonly SweepRow[], width = WIDTH): string {
  const notes = messagesOf(rows).flatMap((message, index) =>
    wrapText(`(${index + 1}) ${message}`, width - 4).map((line, at) => (at === 0 ? line : `    ${line}`)),
  );
  if (rows.some(isFitted)) notes.push(FIT_NOTE);
  return `${terminalTable(tableOf(rows), width)}${notes.map((line) => `${line}\n`).join('')}`;
}

/** Seconds that each scheduler took on this machine: timing.csv. */
export const TIMING_COLUMNS: readonly Column<SweepRow>[] = [
  { key: 'cluster', value: ({ cluster }) => cluster },
  { key: 'model', value: ({ model }) => model.label },
  { key: 'scheduler', value: ({ scheduler }) => scheduler },
  { key: 'planning_s', value: ({ planningSeconds }) => planningSeconds },
];

/** `Llama-3-70B Q4_K_S 37.6 GiB`. */
function modelText({ model: { model } }: SweepRow): string {
  return `${model.name} ${model.mix} ${formatBytes(model.bytes)}`;
}

/** TPOT by simulation, as a column of every table. */
const SIMULATED: Column<SweepRow> = {
  title: 'simulated',
  key: 'simulated_tpot_s',
  value: (row) => planned(row)?.simulatedSeconds,
  text: (row) => {
    const plan = planned(row);
    if (plan === undefined) return '';
    return plan.simulatedSeconds === undefined ? 'OOM' : formatSeconds(plan.simulatedSeconds);
  },
  align: 'right',
};

/** Output tokens per second by simulation. */
const TOKENS_PER_SECOND: Column<SweepRow> = {
  title: 'tokens/s',
  key: 'simulated_tokens_per_s',
  value: (row) => {
    const seconds = planned(row)?.simulatedSeconds;
    return seconds === undefined ? undefined : 1 / seconds;
  },
  unit: 'factor',
};

/** @param messages why rows have no plan, as numbered below a terminal's table */
function columnsOf(messages: readonly string[]): Column<SweepRow>[] {
  return [
    { key: 'cluster', value: ({ cluster }) => cluster },
    { title: 'model', value: modelText, on: 'terminal', wraps: true, label: true },
    { title: 'model', key: 'model', value: ({ model }) => model.label, label: true, filter: true, on: 'page' },
    { key: 'mix', value: ({ model }) => model.model.mix },
    { key: 'model_bytes', value: ({ model }) => model.model.bytes },
    { title: 'scheduler', key: 'scheduler', value: ({ scheduler }) => scheduler, label: true },
    { key: 'status', value: ({ outcome }) => outcome.status },
    {
      title: 'TPOT\npredicted',
      key: 'tpot_s',
      value: (row) => planned(row)?.breakdown.tokenSeconds,
      text: ({ outcome }) => (outcome.status === 'planned' ? formatSeconds(outcome.breakdown.tokenSeconds) : '–'),
      align: 'right',
    },
    { key: 'overlapped_tpot_s', value: (row) => planned(row)?.overlapped?.tokenSeconds },
    SIMULATED,
    TOKENS_PER_SECOND,
    {
      title: 'layers\nCPU+GPU',
      value: ({ outcome }) =>
        outcome.status === 'planned' ? layersText(outcome.plan) : failureText(outcome, messages),
      wraps: 'items',
      on: 'terminal',
    },
    {
      title: 'layers: CPU+GPU',
      value: ({ outcome }) =>
        outcome.status === 'planned' ? layersText(outcome.plan).replaceAll(/(?<!,) /g, '\u00a0') : outcome.message,
      on: 'page',
    },
    {
      title: 'k',
      key: 'rounds',
      value: ({ outcome }) => planOf(outcome)?.rounds,
      text: (row) => String(planned(row)?.plan.rounds ?? ''),
      align: 'right',
    },
    { key: 'layers', value: ({ outcome }) => sharesText(planOf(outcome)) },
    { key: 'ram_bytes', value: (row) => planned(row)?.memory.ramBytes },
    { key: 'vram_bytes', value: (row) => planned(row)?.memory.vramBytes },
    {
      title: 'memory\npressure',
      key: 'memory_pressure',
      value: (row) => planned(row)?.memory.pressure,
      unit: 'share',
      on: 'page',
    },
    {
      title: 'reload\nper token',
      key: 'reloaded_bytes',
      value: (row) => planned(row)?.breakdown.reloadedBytes,
      unit: 'bytes',
    },
    ...CAUSES.map(
      (cause): Column<SweepRow> => ({
        key: `${snakeCase(cause)}_s`,
        value: (row) => planned(row)?.breakdown.seconds[cause],
      }),
    ),
    { key: 'published_value', value: ({ published }) => published?.cell.value },
    { key: 'published_unit', value: ({ published }) => published?.cell.unit },
    { key: 'published_in', value: ({ published }) => published && placeOf(published.cell) },
    { key: 'published_use', value: ({ published }) => published?.cell.use },
    { title: 'published\n(TPOT)', value: publishedText, align: 'right' },
    {
      title: 'error:\npredicted',
      key: 'predicted_over_published',
      value: publishedRatio,
      text: (row) => errorText(row, publishedRatio(row)),
      align: 'right',
    },
    {
      title: 'simu-\nlated',
      key: 'simulated_over_published',
      value: simulatedRatio,
      text: (row) => errorText(row, simulatedRatio(row)),
      align: 'right',
    },
    { key: 'message', value: ({ outcome }) => (outcome.status === 'planned' ? undefined : outcome.message) },
    {
      key: 'plan',
      value: (row) => (planOf(row.outcome) === undefined || row.scheduler === 'hand' ? undefined : planPath(row)),
    },
  ];
}

function planned({ outcome }: SweepRow): Extract<Outcome, { readonly status: 'planned' }> | undefined {
  return outcome.status === 'planned' ? outcome : undefined;
}

function messagesOf(rows: readonly SweepRow[]): string[] {
  return [...new Set(rows.flatMap(({ outcome }) => (outcome.status === 'planned' ? [] : [outcome.message])))];
}

function failureText(outcome: Exclude<Outcome, { readonly status: 'planned' }>, messages: readonly string[]): string {
  const number = messages.indexOf(outcome.message) + 1;
  const reason = `${outcome.reason} (${number})`;
  switch (outcome.status) {
    case 'unrunnable':
      return reason;
    case 'no-plan':
      return `no plan: ${reason}`;
    case 'skipped':
      return `skipped: ${reason}`;
  }
}

function sharesText(plan: Plan | undefined): string | undefined {
  if (plan === undefined) return undefined;
  return planShares(plan)
    .map(({ device, cpuLayers, gpuLayers }) => `${device}:${cpuLayers}+${gpuLayers}`)
    .join(' ');
}

/** The published TPOT, or what the paper prints instead of one (such as OOM). */
function publishedText({ published }: SweepRow): string {
  if (published === undefined) return '';
  return published.seconds === undefined ? String(published.cell.value) : formatSeconds(published.seconds);
}

/** A time over the published one, as a deviation; a cell that may serve for fitting is marked *. */
function errorText(row: SweepRow, ratio: number | undefined): string {
  if (ratio === undefined) return '';
  return `${formatDeviation(ratio)}${isFitted(row) ? '*' : ''}`;
}

/** The row is compared with a cell that constants may be fitted to. */
export function isFitted(row: SweepRow): boolean {
  return publishedRatio(row) !== undefined && row.published?.cell.use === 'fit';
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
