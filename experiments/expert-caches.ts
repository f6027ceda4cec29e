import { readTextFile } from '../commands/text-file.ts';
import { drawRouting, zipfPopularity } from '../engine/experts/draw-routing.ts';
import { parseRoutings } from '../engine/experts/recorded/parse-routings.ts';
import { POOLS } from '../engine/experts/replay-routing.ts';
import { overlapAt, type Routing } from '../engine/experts/routing.ts';
import type { Recurrence } from '../engine/experts/working-set.ts';
import { formatPercent } from '../engine/input/format.ts';
import { InputError, suggestion } from '../engine/input/input-error.ts';
import { readCount } from '../engine/terminal/options.ts';
import { type CacheRow, compareCaches, POLICIES } from './expert-caches/replay.ts';
import { CACHE_COLUMNS, expertCachesPage } from './expert-caches/report.ts';
import { tableCsv, tableJson, terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { median } from './report/median.ts';
import { choice, count, list, number, text } from './report/options.ts';

/** Shapes of the routing that is drawn: those of Qwen3-30B-A3B. */
const DRAWN = { layers: 48, experts: 128, used: 8 };

await runExperiment({
  name: 'expert-caches',
  description:
    'How many of the experts that tokens need are in a cache of some slots, by policy: replayed on a routing that was recorded or is drawn, and expected from its popularity and recurrence.',
  options: {
    routing: text('--routing <file>', 'recorded routings (JSON: traces by name, ids in base64); default: one is drawn'),
    trace: text('--trace <name>', 'one of them (default: the first)'),
    tokens: count('--tokens <n>', 'tokens of a drawn routing', { default: 512, least: 16, most: 20_000 }),
    layers: count('--layers <n>', 'its layers with experts', { default: DRAWN.layers, most: 1000 }),
    experts: count('--experts <n>', 'experts of a layer', { default: DRAWN.experts, least: 2, most: 4096 }),
    used: count('--used <k>', 'experts that a token uses in a layer', { default: DRAWN.used, most: 256 }),
    slope: number('--slope <s>', 'popularity falls with the rank as rank^-s', { default: 0.8, least: 0, most: 4 }),
    previous: number('--previous <q>', 'probability that an expert is copied from the token before', {
      ...{ default: 0.2, least: 0, most: 0.9 },
    }),
    recent: number('--recent <q>', 'probability that it is copied from one of the last tokens, as 1/age', {
      ...{ default: 0.15, least: 0, most: 0.9 },
    }),
    window: count('--window <n>', 'how many last tokens', { default: 16, most: 1024 }),
    pool: choice('--pool <which>', 'a cache for each layer, or one for all of them', POOLS, 'layer'),
    slots: list('--slots <list>', 'slots of a layer', '8,12,16,24,32,48,64'),
  },
  json: 'caches.json',
  files: ['caches.csv'],
  seed: { help: 'of the drawn routing, and of policies that draw' },
  run({ seed, pool, slots: asked, ...options }, { progress }) {
    const slots = asked.map((value) => readCount('--slots', value, 1, 65_535));
    const {
      routing,
      recurrence: given,
      title,
    } = options.routing === undefined ? drawn({ ...options, seed }) : recorded(options.routing, options.trace);
    if (routing.tokens < 16) throw new InputError('--routing', `has ${routing.tokens} tokens; 16 are the least`);
    const bar = progress(slots.length * POLICIES.length);
    const { rows, recurrence } = compareCaches({
      routing,
      pool,
      slots,
      seed,
      recurrence: given,
      step: () => bar.step(''),
    });
    const table = { columns: CACHE_COLUMNS, rows };
    const { tokens, layers, experts, used } = routing;
    return {
      subtitle: `${title}: ${tokens} tokens, ${layers} layers, ${used} of ${experts} experts · ${pool === 'all' ? 'one cache for all layers' : 'a cache for each layer'}, filled by the first half and replayed on the second`,
      findings: findings(rows, routing, recurrence),
      data: { settings: { ...options, pool, slots, seed }, recurrence, rows: tableJson(table) },
      text: [terminalTable(table)],
      page: expertCachesPage(rows),
      files: { 'caches.csv': tableCsv(table) },
    };
  },
});

interface NamedRouting {
  readonly routing: Routing;
  readonly recurrence: Recurrence | undefined;
  readonly title: string;
}

function recorded(file: string, name: string | undefined): NamedRouting {
  const routings = parseRoutings(readTextFile(file), file);
  const title = name ?? ([...routings.keys()][0] as string);
  const routing = routings.get(title);
  if (routing === undefined)
    throw new InputError(
      '--trace',
      `no routing of ${file} is called "${title}"${suggestion(title, [...routings.keys()])}`,
    );
  return { routing, recurrence: undefined, title };
}

interface DrawnOptions {
  readonly tokens: number;
  readonly layers: number;
  readonly experts: number;
  readonly used: number;
  readonly slope: number;
  readonly previous: number;
  readonly recent: number;
  readonly window: number;
  readonly seed: number;
}

function drawn({ tokens, used, slope, previous, recent, window, seed, ...shape }: DrawnOptions): NamedRouting {
  if (used > shape.experts) throw new InputError('--used', `is ${used} of ${shape.experts} experts`);
  if (previous + recent > 0.95)
    throw new InputError(
      '--previous, --recent',
      'are more than 0.95 together, so that no new expert would ever be drawn',
    );
  const recurrence = { previous, recent, window };
  const popularity = zipfPopularity({ ...shape, seed }, slope);
  return { routing: drawRouting({ tokens, used, popularity, recurrence, seed }), recurrence, title: 'a drawn routing' };
}

function findings(rows: readonly CacheRow[], routing: Routing, recurrence: Recurrence): string[] {
  const errors = (expected: (row: CacheRow) => number): string => {
    const off = rows.map((row) => Math.abs(expected(row) - row.hits.lru));
    const points = (value: number): string => (100 * value).toFixed(1);
    return `${points(median(off))} points in the median, ${points(Math.max(...off))} at worst`;
  };
  const { previous, recent, window } = recurrence;
  return [
    `A token uses ${formatPercent(overlapAt(routing, 1))} of the experts of the token before; recurrence: ${previous} from that token, ${recent} from the last ${window}.`,
    `What LRU hits is expected within ${errors(({ expected }) => expected.lru)}; by popularity alone within ${errors(({ expected }) => expected.independent)}.`,
  ];
}
