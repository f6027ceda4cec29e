import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LAYER_BYTES } from '../../datasets/lab/cells.ts';
import { drawnCells } from '../../datasets/lab/drawn-cells.ts';
import { LAB_SHAPES } from '../../datasets/lab/shapes.ts';
import { loadMeasuredRuns } from '../../datasets/load.ts';
import { formatPercent } from '../../engine/input/format.ts';
import { createModel } from '../../engine/model/model.ts';
import { recordedResults } from '../../experiments/three-answers/recorded.ts';
import { errorsOf } from '../../experiments/three-answers/summary.ts';
import { middle } from '../bench/engine/contest.ts';
import { RECORDED, type RecordedBench } from '../bench/engine/performance-table.ts';
import { recordedRuns } from '../bench/gpu-kit/tables.ts';

/** The results of README.md, a line of Markdown each, from what is on record. */
export function frontPageResults(): string[] {
  return [laboratory(), field(), papers(), speed(), streaming()];
}

/** Three rows of Markdown, one for each paper, from the groups that `npm run reproduce` prints. */
export function papersTable(groups: string): string {
  const rows = groups
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter(([, , group]) => group === 'seen');
  const relative = (errors = ''): string => errors.split(', ')[0] ?? '';
  return [
    '| paper | figures | predicted: median (worst) | simulated: median (worst) |',
    '| --- | ---: | ---: | ---: |',
    ...rows.map(
      ([, paper, , prints, , predicted, simulated]) =>
        `| ${paper} | ${prints} | ${relative(predicted)} | ${relative(simulated)} |`,
    ),
    '',
  ].join('\n');
}

function laboratory(): string {
  const model = createModel(LAB_SHAPES.small, 'F16');
  const cells = drawnCells({ count: 60, seed: 2, layerBytes: model.layer.bytes, standardLayerBytes: LAYER_BYTES });
  const { results } = recordedResults('datasets/measured/three-answers-draw-2', cells, 'small', 7);
  const { median, worst } = errorsOf(results, 'simulated', 'seconds');
  const page = readFileSync('docs/measurements/simulator.md', 'utf8');
  const [, fresh, freshMedian, freshWorst] = /^\| all +\| +(\d+) \| +(\S+ %), (\S+ %)/m.exec(page) ?? [];
  return `- **Laboratory**: over ${results.length} random plans on four devices, seen when the simulator was corrected, the simulated time per token is off by ${formatPercent(median)} in the median, ${formatPercent(worst)} at worst; over ${fresh} plans of a later draw, on a busy machine, by ${freshMedian} and ${freshWorst} ([lab](docs/measurements/simulator.md)).`;
}

function field(): string {
  const text = readFileSync('docs/measurements/contradictions.md', 'utf8');
  const [, signs, series, sizes] = /(\d+) of (\d+) signs are right, and (\d+) sizes within 15 %/.exec(text) ?? [];
  const measured = readFileSync('docs/measurements/field.md', 'utf8');
  const [, machines, off] = /^Tier A, decode, \d+ cells of (\d+) machines: (off by .*?);/m.exec(measured) ?? [];
  const [, later, offLater] =
    /^Third round, tier A, decode, \d+ cells of (\d+) machines: (off by .*?);/m.exec(measured) ?? [];
  return `- **Field**: predicted from specifications and one efficiency per program, tokens per second that others measured on ${machines} machines are ${off}; after corrections, further measurements on ${later} machines are ${offLater} ([field](docs/measurements/field.md)). Of ${series} effects that users of mixtures on disks published, ${signs} have the right sign in simulation, and ${sizes} the right size within 15 % ([findings](docs/measurements/contradictions.md)).`;
}

function papers(): string {
  const rows = papersTable(
    readFileSync('docs/measurements/reproduction.md', 'utf8').split('<!-- end of groups -->')[0] ?? '',
  )
    .split('\n')
    .slice(2, 5)
    .map((row) => row.split('|').map((cell) => cell.trim()));
  const simulated = rows.map(([, , , , cell = '']) => /^([\d.]+ %) \((.*)\)$/.exec(cell) ?? []);
  const list = rows.map(([, paper], index) => `${paper} ${simulated[index]?.[1]} (${simulated[index]?.[2]})`);
  return `- **Papers**: median (and worst) errors of simulating the printed figures: ${list.join(', ')} ([tables](docs/measurements/reproduction.md)).`;
}

function speed(): string {
  const ratios = readdirSync(RECORDED).flatMap((file) => {
    const { cells } = JSON.parse(readFileSync(join(RECORDED, file), 'utf8')) as RecordedBench;
    return cells.flatMap(({ peers }) => peers.filter(({ name }) => name === 'ik').map(({ ratio }) => ratio.median));
  });
  const gpu = recordedRuns()
    .flatMap(({ steps }) => steps.flatMap(({ cells }) => cells))
    .flatMap((cell) => (cell.kind === 'contest' ? contestRatios(cell.rates) : []));
  return `- **Speed**: ${spread(ratios)} the tokens per second of ik_llama.cpp on a CPU ([CPU](docs/measurements/performance.md)); ${spread(gpu)} those of llama.cpp’s Vulkan build on an H100 ([GPU](docs/measurements/gpu.md)).`;
}

function streaming(): string {
  const runs = loadMeasuredRuns();
  const own = runs.find(({ program, flags }) => program === 'Hearth' && flags === 'pinned');
  const theirs = runs.filter(({ program, memoryShare }) => program === 'prima.cpp' && memoryShare !== undefined);
  const ratios = theirs.map(({ tokenSeconds }) => tokenSeconds / (own?.tokenSeconds ?? Number.NaN));
  return `- **Streaming**: ${spread(ratios)} as fast as prima.cpp’s program with weights that exceed memory, over its ${theirs.length} settings ([rings](docs/measurements/rings.md)).`;
}

/** Hearth's rate for that of each peer, in the median over turns. */
function contestRatios(rates: Readonly<Record<string, readonly number[]>>): number[] {
  const { Hearth: own = [], ...peers } = rates;
  return Object.values(peers)
    .filter((turns) => turns.length > 0)
    .map((turns) => middle(turns.map((rate, turn) => (own[turn] ?? Number.NaN) / rate)));
}

/** Median and worst of ratios, of which larger is better. */
function spread(ratios: readonly number[]): string {
  return `${middle(ratios).toFixed(2)} × (worst ${Math.min(...ratios).toFixed(2)} ×)`;
}
