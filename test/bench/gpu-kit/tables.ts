import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatBytes, formatPercent, formatSeconds, threeDigits } from '../../../engine/input/format.ts';
import { middle } from '../engine/contest.ts';
import { type Cell, type GpuResults, parseGpuResults } from './results.ts';
import { deviations } from './split-errors.ts';

/** Folder of the runs that docs/measurements/gpu.md shows: gpu-NAME.json, as the box wrote them. */
export const MEASURED = 'datasets/measured';
const FILE = /^gpu-.*\.json$/;

/** All recorded runs, by the names of their files. */
export function recordedRuns(folder = MEASURED): GpuResults[] {
  const names = readdirSync(folder).filter((name) => FILE.test(name));
  return names.sort().map((name) => parseGpuResults(readFileSync(join(folder, name), 'utf8'), join(folder, name)));
}

/** The file of a run, which takes the place of an earlier one on the same card. */
export function recordedFile(results: GpuResults): string {
  const [device] = cellsOf(results, 'device');
  const card = (device?.adapter ?? 'unknown').toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  return join(MEASURED, `gpu-${card.replace(/^-|-$/g, '')}.json`);
}

/** Markdown of all runs: what ran where, and a table for each kind of measurement. */
export function gpuTables(runs: readonly GpuResults[]): string {
  return runs.length === 0 ? 'No run is recorded.\n' : runs.map(runText).join('\n');
}

type Kind = Cell['kind'];
type CellOf<K extends Kind> = Extract<Cell, { kind: K }>;

function cellsOf<K extends Kind>({ steps }: GpuResults, kind: K): CellOf<K>[] {
  return steps.flatMap(({ cells }) => cells).filter((cell): cell is CellOf<K> => cell.kind === kind);
}

function runText(results: GpuResults): string {
  const { hearth, machine, begun, steps } = results;
  const [device] = cellsOf(results, 'device');
  const checks = cellsOf(results, 'check');
  const agreed = checks.filter(({ agrees }) => agrees).length;
  const engines = [...new Set(cellsOf(results, 'contest').flatMap((cell) => cell.engines))];
  const name = device?.adapter ?? 'No GPU was found';
  const lines = [
    ...(device === undefined ? [] : [`${device.driver}, subgroups of ${device.subgroupSizes.join(' to ')}`]),
    `${machine.processor}, ${machine.cores} threads, ${formatBytes(machine.memory)}; ${machine.system}`,
    `Hearth ${hearth.version} (${hearth.commit}), ${begun.slice(0, 10)}; random weights`,
    ...engines,
    `${agreed} of ${checks.length} comparisons with the reference agree`,
    `steps: ${steps.map(({ name: step, state, seconds }) => `${step} ${seconds.toFixed(0)} s${state === 'ended' ? '' : ` (${state})`}`).join(', ')}`,
  ];
  const tables = [
    contestTable(cellsOf(results, 'contest')),
    quantityTable(cellsOf(results, 'quantity')),
    splitTable(cellsOf(results, 'split')),
    togetherTable(cellsOf(results, 'batch'), cellsOf(results, 'ring')),
    expertsTable(cellsOf(results, 'experts')),
  ];
  const text = tables.filter((table) => table !== '').join('\n');
  return `### ${name}\n\n${lines.map((line) => `- ${line}`).join('\n')}\n\n${text}`;
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const line = (items: readonly string[]): string => `| ${items.join(' | ')} |`;
  const ruler = line(header.map((_, column) => (column < 2 ? '---' : '---:')));
  return `${[line(header), ruler, ...rows.map(line)].join('\n')}\n`;
}

function contestTable(cells: readonly CellOf<'contest'>[]): string {
  const peers = [...new Set(cells.flatMap(({ rates }) => Object.keys(rates)))].filter((name) => name !== 'Hearth');
  const header = ['model', 'what', 'Hearth, tokens/s', 'share of the probe'];
  const rows = cells.map(({ model, mix, discipline, tokens, rates, share }) => {
    const own = rates.Hearth ?? [];
    const others = peers.flatMap((name) => {
      const turns = rates[name] ?? [];
      const ratios = turns.map((rate, turn) => (own[turn] ?? Number.NaN) / rate);
      if (turns.length === 0) return ['–', '–'];
      const [least, most] = [Math.min(...ratios), Math.max(...ratios)];
      return [threeDigits(middle(turns)), `${middle(ratios).toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`];
    });
    const reached = share === null ? '–' : formatPercent(share);
    return [`${model} ${mix}`, `${discipline} ${tokens}`, threeDigits(middle(own)), reached, ...others];
  });
  return table([...header, ...peers.flatMap((name) => [`${name}, tokens/s`, 'Hearth’s ratio'])], rows);
}

function quantityTable(cells: readonly CellOf<'quantity'>[]): string {
  const texts: Readonly<Record<CellOf<'quantity'>['unit'], (value: number) => string>> = {
    'B/s': (value) => `${threeDigits(value / 1e9)} GB/s`,
    'operations/s': (value) => `${threeDigits(value / 1e12)} TFLOPS`,
    s: formatSeconds,
    B: formatBytes,
  };
  const rows = cells.map(({ name, unit, median, spread, repeats }) => {
    return [name, texts[unit](median), `± ${formatPercent(spread)}`, String(repeats)];
  });
  return table(['probe', 'median', 'spread', 'rounds'], rows);
}

function splitTable(cells: readonly CellOf<'split'>[]): string {
  const [first] = cells;
  if (first === undefined) return '';
  const phases = ['tpot', 'ttft'] as const;
  const rows = cells.map((cell) => [
    ...[String(cell.cpuUnits), String(cell.units - cell.cpuUnits)],
    ...phases.flatMap((phase) => {
      const measured = cell.measured[phase].median;
      const beside = (seconds: number): string =>
        `${formatSeconds(seconds)} (${formatPercent(seconds / measured - 1)})`;
      return [formatSeconds(measured), beside(cell.predicted[phase]), beside(cell.simulated[phase])];
    }),
  ]);
  const header = phases.flatMap((phase) => [`${phase}, measured`, 'predicted', 'simulated']);
  const { model, mix, promptTokens, outputTokens, threads } = first;
  const about = `${model} ${mix}, prompt of ${promptTokens} tokens, ${outputTokens} decoded, ${threads} threads: ${deviations(cells)}.`;
  return `${about}\n\n${table(['units on the CPU', 'on the GPU', ...header], rows)}`;
}

function expertsTable(cells: readonly CellOf<'experts'>[]): string {
  const rows = cells.map(({ model, mix, cpuExperts, layers, promptTokens, threads, measured: { ttft, tpot } }) => [
    ...[`${model} ${mix}`, `${cpuExperts} of ${layers} layers, ${threads} threads`],
    ...[formatSeconds(tpot.median), threeDigits(1 / tpot.median), threeDigits(promptTokens / ttft.median)],
  ]);
  return table(['model', 'experts on the CPU', 'a token', 'tokens/s', 'tokens/s of the prompt'], rows);
}

function togetherTable(batches: readonly CellOf<'batch'>[], rings: readonly CellOf<'ring'>[]): string {
  const ofBatches = batches.map(({ model, mix, requests, measured }) => [
    ...[`${model} ${mix}`, requests === 1 ? '1 request' : `${requests} requests together`],
    ...[formatSeconds(measured.median), threeDigits(requests / measured.median)],
  ]);
  const ofRings = rings.map(({ model, mix, processes, tpot }) => [
    ...[`${model} ${mix}`, `a ring of ${processes} processes`],
    ...[formatSeconds(tpot), threeDigits(1 / tpot)],
  ]);
  return table(['model', 'what', 'a step', 'tokens/s'], [...ofBatches, ...ofRings]);
}
