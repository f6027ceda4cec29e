import type { FieldAccuracy } from '../datasets/field.ts';
import { heldWeights } from '../engine/cost/held-weights.ts';
import type { Cluster } from '../engine/hardware/cluster.ts';
import {
  formatBytes,
  formatDeviation,
  formatPercent,
  formatSeconds,
  gibibytes,
  threeDigits,
} from '../engine/input/format.ts';
import { cachesExperts } from '../engine/plan/plan.ts';
import { formatTable, type TableColumn, terminalWidth, wrapText } from '../engine/terminal/table.ts';
import type { SecondsRange } from '../engine/trace/token-figures.ts';
import type { Answer, RunnableAnswer } from '../planner/answer.ts';
import { contextText, placesText } from '../planner/answer-text.ts';
import type { Change } from '../planner/changes.ts';
import { type CommandLine, programsText } from '../planner/command-lines.ts';
import type { PlannedDrafts } from '../planner/draft-answers.ts';
import { accuracyText } from './plan-accuracy.ts';

/** Columns of the table of all models where the terminal's width is unknown. */
const USUAL_WIDTH = 132;

/** An answer with what else there is to say of it. */
export interface DetailedAnswer {
  readonly answered: Answer;
  /** Seconds of a token where devices have a little less or more memory; missing if that changes next to nothing. */
  readonly range?: SecondsRange;
  readonly without: readonly Change[];
  readonly upgrades: readonly Change[];
  readonly commands: readonly CommandLine[];
  /** Lines about devices whose page faults read far more than is needed; missing if there are none. */
  readonly readAhead?: readonly string[];
  /** Gain of a draft model, and its file. */
  readonly drafts?: PlannedDrafts & { readonly file: string };
}

const right = (title: string): TableColumn => ({ title, align: 'right' });

/** One line for each model, and a sentence about what the columns say. */
export function answerLines(cluster: Cluster, answers: readonly Answer[]): string {
  const columns = [
    { title: 'Model' },
    right('Size'),
    { title: 'Weights' },
    right('Tokens/s\npredicted'),
    right('\nsimulated'),
    right('First token\nwarm'),
    right('\ncold'),
    right('Longest\ncontext'),
    { title: 'Layers: CPU+GPU', wraps: 'items' } as const,
  ];
  const table = formatTable(
    columns,
    answers.map((one) => lineOf(one, cluster)),
    terminalWidth(USUAL_WIDTH),
  );
  const fitting = answers.filter(({ status }) => status === 'in-memory').length;
  const notes = [
    ...(answers.some(isCut) ? [`Tensors that are cut among devices: ${CUT_PROGRAM} carries that out.`] : []),
    ...(answers.some(isTrained) ? ['* the model was trained for no more.'] : []),
  ];
  const last = `${fitting} of ${answers.length} models fit in the memory of ${cluster.name}. hearth plan --cluster … --model NAME shows one with its memory, upgrades and command lines.`;
  const lines = [...notes, last].flatMap((note) => wrapText(note, terminalWidth(USUAL_WIDTH)));
  return `${table}${lines.map((line) => `${line}\n`).join('')}`;
}

const CUT_PROGRAM = 'distributed-llama';
const isCut = (one: Answer): boolean => one.status !== 'does-not-fit' && one.plan.kind === 'tensor-parallel';
const isTrained = (one: Answer): boolean =>
  one.status !== 'does-not-fit' && one.longestContext >= (one.model.trainedContext ?? Number.POSITIVE_INFINITY);

function lineOf(answer: Answer, { devices }: Cluster): string[] {
  const { model } = answer;
  const start = [`${model.name} ${model.mix}`, formatBytes(model.bytes)];
  if (answer.status === 'does-not-fit') return [...start, 'do not fit', '–', '–', '–', '–', '–', '–'];
  const { predictedSeconds, simulated, longestContext, plan } = answer;
  const seconds = (value: number | undefined): string => (value === undefined ? '–' : formatSeconds(value));
  return [
    ...start,
    answer.status === 'in-memory' ? 'in memory' : 'from disk',
    rate(predictedSeconds),
    rate(simulated?.tokenSeconds),
    seconds(simulated?.warmSeconds),
    seconds(simulated?.coldSeconds),
    `${longestContext}${isTrained(answer) ? '*' : ''}`,
    // The name of the only device says nothing.
    devices.length === 1 ? placesText(plan).replace(`${devices[0]?.name} `, '') : placesText(plan),
  ];
}

/** All about one model: times, memory of each device, what each device and each upgrade is worth, command lines. */
export function detailText(
  cluster: Cluster,
  accuracy: readonly FieldAccuracy[],
  { answered, range, without, upgrades, commands, readAhead, drafts }: DetailedAnswer,
): string {
  const { model } = answered;
  const title = `${model.name}, ${model.mix}, ${formatBytes(model.bytes)} on ${cluster.name}\n`;
  if (answered.status === 'does-not-fit')
    return `${title}\nDoes not fit: ${answered.reason}\n\n${upgrades.length > 0 ? changesText('With', upgrades, undefined) : 'No single upgrade makes it fit.\n'}`;
  const before = answered.simulated?.tokenSeconds ?? answered.predictedSeconds;
  const streams = answered.status === 'from-disk' ? `It streams from disk: ${rate(before)} tokens/s\n` : '';
  const parts = [
    `${streams}${title}\n${summary(answered, range, commands, accuracyText(answered, cluster, accuracy))}`,
    memoryTable(answered),
    ...(readAhead === undefined ? [] : [readAhead.map((line) => `${line}\n`).join('')]),
    ...(model.layer.routed.length > 0 && answered.plan.kind !== 'tensor-parallel' ? [expertsTable(answered)] : []),
    ...(drafts === undefined ? [] : [draftsText(drafts)]),
    ...(without.length > 0 ? [changesText('Device', without, before)] : []),
    upgrades.length > 0
      ? changesText('Upgrade', upgrades, before)
      : 'No single upgrade that can be bought makes it faster.\n',
    ...commands.map(
      ({ program, device, line, note }) =>
        `${program}, on ${device}${note === undefined ? '' : ` (${note})`}:\n  ${line}\n`,
    ),
  ];
  return parts.join('\n');
}

function summary(
  answered: RunnableAnswer,
  range: SecondsRange | undefined,
  commands: readonly CommandLine[],
  accuracy: string,
): string {
  const { plan, predictedSeconds, simulated, status, reloadedBytes, wholeLayers, carried } = answered;
  const isMixture = answered.model.layer.routed.length > 0;
  const isCached = isMixture && cachesExperts(plan);
  const experts = isCached || !isMixture ? '' : ', if experts are used with equal chances';
  const weights =
    status === 'in-memory' ? 'in memory' : `${formatBytes(reloadedBytes)} read from disk for every token${experts}`;
  const own = commands.filter(({ program }) => (program === CUT_PROGRAM) === (plan.kind === 'tensor-parallel'));
  const rows: [string, string][] = [
    ...(isCached ? [['experts', expertsText(answered)] as [string, string]] : []),
    ['plan', `${plan.scheduler}, k = ${plan.rounds}: ${placesText(plan)}`],
    ['head', plan.output.device],
    ['weights', weights],
    ['predicted', `${formatSeconds(predictedSeconds)} a token, ${rate(predictedSeconds)} tokens/s`],
  ];
  if (simulated !== undefined) {
    const { tokenSeconds, warmSeconds, coldSeconds } = simulated;
    rows.push(['simulated', `${formatSeconds(tokenSeconds)} a token, ${rate(tokenSeconds)} tokens/s`]);
    if (range !== undefined) rows.push(['memory ± 1 %', rangeText(range)]);
    rows.push([
      'first token',
      `${formatSeconds(warmSeconds)} warm, ${formatSeconds(coldSeconds)} from disk (simulated)`,
    ]);
  } else if (isMixture) rows.push(['simulated', 'not where no policy says how experts are read from disks']);
  rows.push(
    ['accuracy', accuracy],
    ['context', contextText(answered)],
    ['carried out by', programsText(carried === undefined ? own : [])],
  );
  if (wholeLayers !== undefined)
    rows.push(['without cuts', `${placesText(wholeLayers.plan)}: ${rate(wholeLayers.seconds)} tokens/s`]);
  if (carried !== undefined)
    rows.push([
      'can be run',
      `${placesText(carried.plan)}: ${rate(carried.seconds)} tokens/s, by ${programsText(own)}`,
    ]);
  return formatTable([{ title: 'What' }, { title: 'Value', wraps: 'items' }], rows);
}

/** Seconds and rates from the least time to the most; infinite where the plan can't run. */
function rangeText({ least, most }: SecondsRange): string {
  if (!Number.isFinite(most)) return `${formatSeconds(least)} a token, or it doesn’t fit`;
  return `${formatSeconds(least)} to ${formatSeconds(most)} a token, ${rate(most)} to ${rate(least)} tokens/s`;
}

/** How a device caches and reads experts. */
function expertsText({ plan }: RunnableAnswer): string {
  const policies = Object.entries(plan.weights).flatMap(([device, { experts }]) =>
    experts === undefined ? [] : [{ device, experts }],
  );
  return policies
    .map(({ device, experts: { method, pool, lookahead, depth, eviction } }) => {
      if (method === 'mmap') return `mapped from the disk of ${device}, whose operating system keeps what fits`;
      const slots = pool === 'all' ? 'in whole multiples of a token, for all layers together' : 'for each layer';
      const ahead =
        lookahead.kind === 'none'
          ? ''
          : `, the next layer’s first ${'ranks' in lookahead ? lookahead.ranks : ''} guessed and read ahead`;
      return `as many as fit ${device} stay, ${slots} (${eviction}); others are read ${method}, ${depth} reads at once${ahead}`;
    })
    .join('; ');
}

function memoryTable({ devices }: RunnableAnswer): string {
  const rows = devices.map((device) => [
    device.device,
    `${device.cpuLayers}+${device.gpuLayers}`,
    gibibytes(device.ramBytes),
    gibibytes(device.ramAvailable),
    device.vramAvailable === 0 ? '–' : gibibytes(device.vramBytes),
    device.vramAvailable === 0 ? '–' : gibibytes(device.vramAvailable),
    device.reloadedBytes === 0 ? '–' : formatBytes(device.reloadedBytes),
  ]);
  const columns = [
    'Layers\nCPU+GPU',
    'RAM\nneeded',
    'GiB\navailable',
    'VRAM\nneeded',
    'GiB\navailable',
    'Read for\na token',
  ];
  return formatTable([{ title: 'Device', short: 'D' }, ...columns.map(right)], rows);
}

/** A mixture's weights by the processor that computes with them: those every token uses, experts, and a token's share of these. */
function expertsTable({ plan, model }: RunnableAnswer): string {
  const rows = heldWeights(plan, model).map(({ device, processor, alwaysBytes, expertBytes, usedBytes }) => [
    `${device}, ${processor.toUpperCase()}`,
    gibibytes(alwaysBytes),
    gibibytes(expertBytes),
    gibibytes(usedBytes),
  ]);
  const columns = ['Every token\nuses GiB', 'Experts\nGiB', 'of them\na token'];
  return formatTable([{ title: 'Weights on', short: 'P' }, ...columns.map(right)], rows);
}

/** By acceptance rate: tokens to draft at a time, and the gains. Measured gains are those that runs print. */
function draftsText({
  file,
  device,
  draftBytes,
  draftSeconds,
  answers,
}: NonNullable<DetailedAnswer['drafts']>): string {
  const rows = answers.map(({ acceptanceRate, draftTokens, predictedGain, simulatedGain }) => [
    formatPercent(acceptanceRate),
    draftTokens === 0 ? 'none pays' : `--draft-tokens ${draftTokens}`,
    `×${threeDigits(predictedGain)}`,
    `×${threeDigits(simulatedGain)}`,
  ]);
  const columns = [right('Accepted'), { title: 'Draft at a time' }, right('Gain\npredicted'), right('\nsimulated')];
  const where = `Draft ${file}: ${formatBytes(draftBytes)} on the CPU of ${device}, which the plan leaves room for, ${formatSeconds(draftSeconds)} a token (predicted)\n`;
  return `${where}${formatTable(columns, rows)}hearth generate and hearth run with --draft ${file} print what was accepted, and the measured gain.\n`;
}

/** Effect of changes on the simulated time; compared with `before`, if the model runs as it is. */
function changesText(title: string, changes: readonly Change[], before: number | undefined): string {
  const rows = changes.map(({ what, seconds }) => [
    what,
    Number.isFinite(seconds) ? rate(seconds) : 'does not fit',
    before === undefined || !Number.isFinite(seconds) ? '–' : formatDeviation(before / seconds),
  ]);
  return formatTable([{ title, wraps: true }, right('Tokens/s\nsimulated'), right('Change')], rows);
}

function rate(seconds: number | undefined): string {
  return seconds === undefined ? '–' : threeDigits(1 / seconds);
}
