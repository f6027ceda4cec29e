import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readTextFile } from '../commands/text-file.ts';
import type { ExpertsPolicy, ReadMethod } from '../engine/experts/experts-policy.ts';
import { parseRoutings } from '../engine/experts/recorded/parse-routings.ts';
import { expertsOf, type Routing } from '../engine/experts/routing.ts';
import { routingText } from '../engine/experts/write-routing.ts';
import { formatBytes, formatPercent } from '../engine/input/format.ts';
import { InputError } from '../engine/input/input-error.ts';
import { parseQuantity } from '../engine/input/quantity.ts';
import { openKernels } from '../engine/kernels/open-kernels.ts';
import type { Shape } from '../engine/model/architecture.ts';
import type { Experts } from '../engine/model/layer-kind.ts';
import { createModel } from '../engine/model/model.ts';
import { quantizedBytes } from '../engine/model/quantization.ts';
import { loadPart } from '../engine/ring/device/loaded-part.ts';
import { answersOf, EXPERTS_COLUMNS, type ExpertsRow } from './experts/answers.ts';
import { calibrate, NO_LIMIT, READS_OF_EXPERT } from './experts/calibrate.ts';
import { drawnPolicies, drawnTokens, policyName } from './experts/cells.ts';
import { measureExperts } from './experts/measure.ts';
import { measureRing } from './experts/measure-ring.ts';
import { MIXTURE_NAMES, MIXTURES, madeMixture, mixtureShape } from './experts/mixtures.ts';
import { expertsPicture } from './experts/picture.ts';
import {
  RING_COLUMNS,
  type RingRow,
  ringAnswers,
  ringCluster,
  ringDevices,
  ringFindings,
  ringPlanOf,
} from './experts/ring-answers.ts';
import { findLabGround } from './lab/ground.ts';
import { REAL_FILES, runProgram } from './lab/system.ts';
import { tableBlock, tableCsv, tableJson, terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { median } from './report/median.ts';
import { choice, count, flag, option, text } from './report/options.ts';

/**
 * Bytes for which policies leave room besides experts and what every token uses: Node.js, its compiler of TypeScript,
 * activations.
 */
const BUFFERS = 230 * 2 ** 20;
/** Policies that are drawn for a ring, which takes the first that it can replay. */
const MOST_DRAWN = 2000;
/** Bytes that a device of a ring counts itself, for keys and values and activations. */
const RING_BUFFERS = 64 * 2 ** 20;
/** Threads of the kernels. */
const THREADS = 2;

await runExperiment({
  name: 'experts',
  description:
    'A mixture of at least twice the memory under policies of experts: hits, bytes and seconds of a token, predicted, simulated, and measured in control groups with limits of memory and disk.',
  options: {
    shape: choice('--shape <name>', 'whose layers the mixture has', MIXTURE_NAMES, 'olmoe'),
    models: text(
      '--models <dir>',
      'where mixtures are made and kept; on the disk that is limited',
      join(tmpdir(), 'hearth-models'),
    ),
    routing: text(
      '--routing <file>',
      'recorded routings; the first with the shape’s experts is used (default: one is drawn)',
    ),
    tokens: count('--tokens <n>', 'of each cell; the first half fills the caches', {
      default: 48,
      least: 8,
      most: 2000,
    }),
    cells: count('--cells <n>', 'policies that are drawn at random', { default: 8, most: 500 }),
    only: text('--only <text>', 'drawn policies whose name has this text, e.g. "direct"'),
    disk: option('--disk <rate>', 'bytes per second that the disk is limited to (default: 400 MB/s)', (name, given) =>
      parseQuantity(given, 'rate', name),
    ),
    ring: count(
      '--ring <n>',
      'devices of a ring, each of which caches the experts of its layers in 1/n of the memory; 1: one process',
      {
        default: 1,
        most: 4,
      },
    ),
    free: flag('--free', 'no control groups: the memory limit is that of --memory, and the disk has none'),
  },
  json: 'experts.json',
  files: ['experts.csv'],
  seed: { help: 'of weights, of a drawn routing and of the policies' },
  async run(
    { shape: which, models, tokens, cells, only = '', disk = 400e6, ring, free, seed, ...options },
    { progress },
  ) {
    const shape = mixtureShape(which);
    const memory = MIXTURES[which].memory / ring;
    if (shape.layers % ring > 0)
      throw new InputError('--ring', `${ring} devices don’t divide ${shape.layers} layers equally; use another number`);
    const { router, size } = expertsOfShape(shape);
    const model = await madeMixture(models, which, seed, progress);
    const found = free ? { missing: ['--free was given'] } : findLabGround(REAL_FILES, runProgram, models, 0);
    const ground = 'missing' in found ? undefined : found;
    const known = { layers: shape.layers, experts: router.experts };
    const routing =
      options.routing === undefined
        ? drawnTokens({ ...known, used: router.used, tokens, seed })
        : recorded(options.routing, known);
    const folder = mkdtempSync(join(tmpdir(), 'hearth-experts-'));
    try {
      const file = join(folder, 'routing.json');
      writeFileSync(file, routingText(which, routing));
      const expertBytes = READS_OF_EXPERT * quantizedBytes(shape.hiddenSize, MIXTURES[which].experts) * size;
      const denseBytes = statSync(model).size - expertBytes * router.experts * shape.layers;
      const layers = shape.layers / ring;
      const most = Math.floor((memory - BUFFERS - denseBytes / ring) / expertBytes);
      if (most < router.used * layers)
        throw new InputError('--ring', `${formatBytes(memory)} of each device don’t hold a token’s experts; use fewer`);
      if (routing.used !== router.used && options.routing !== undefined)
        throw new InputError('--routing', `has ${routing.used} experts for a token; the mixture uses ${router.used}`);
      const draw = { seed, used: router.used, layers, most };
      const policies = drawnPolicies({ ...draw, count: ring === 1 ? cells : MOST_DRAWN })
        .filter((policy) => policyName(policy).includes(only) && (ring === 1 || isReplayed(policy)))
        .slice(0, cells);
      if (policies.length === 0) throw new InputError('--only', `no policy’s name has "${only}"`);
      const warmUp = tokens >> 1;
      const task = { model, routing: file, tokens, warmUp, threads: THREADS };
      const bar = progress(policies.length + (ring > 1 ? 0 : 1));
      const where =
        ground === undefined
          ? `without control groups (${'missing' in found ? found.missing.join('; ') : ''})`
          : `in control groups with ${formatBytes(memory)} of memory and ${formatBytes(disk)}/s of disk`;
      const subtitle = `${shape.name}, ${formatBytes(statSync(model).size)}, ${where} · ${options.routing ?? 'a drawn routing'}, ${tokens} tokens, the second half counted`;
      const settings = { which, tokens, cells, only, disk, ring, free, seed, routing: options.routing };
      const limits = { memory, diskRate: ground === undefined ? NO_LIMIT : disk, cores: THREADS };
      const figures = { ...known, used: router.used, expertBytes, denseBytes };
      const calibrated = (methods: readonly ReadMethod[]) =>
        calibrate({ task, ground, limits, pageMemory: MIXTURES[which].memory, figures, methods });
      if (ring > 1) {
        const devices = ringDevices(ring, shape.layers);
        // Devices read a file as a whole once for its digests, which lie next to it from then on.
        loadPart(model, openKernels({ implementation: 'native', threads: THREADS }), 1).close();
        const rows: RingRow[] = [];
        for (const policy of policies) {
          // By turns, so that what else the machine does slows both.
          const machine = (await calibrated([policy.method]))(policy.method);
          const plan = ringPlanOf(devices, policy);
          const placed = {
            model,
            routing: file,
            memory: memory - BUFFERS + RING_BUFFERS,
            threads: THREADS,
            tokens,
            warmUp,
          };
          const measured = await measureRing({ ...placed, plan, devices }, { ground, limits });
          const cluster = ringCluster(devices, machine, measured.links);
          const described = createModel(shape, MIXTURES[which].mix);
          const one = { policy, routing, tokens, warmUp, devices, cluster, model: described, known: machine };
          rows.push(...ringAnswers(one, measured));
          bar.step(policyName(policy));
        }
        const table = { columns: RING_COLUMNS, rows, sparse: true, groups: true };
        return {
          subtitle: `a ring of ${ring}: ${subtitle}`,
          findings: ringFindings(rows),
          data: { settings, rows: tableJson(table) },
          text: [terminalTable(table)],
          files: { 'experts.csv': tableCsv(table) },
          page: { title: 'Experts that don’t fit', sections: [{ title: 'A ring', blocks: [tableBlock(table)] }] },
        };
      }
      const methods = [...new Set(policies.map(({ method }) => method))];
      const machineOf = await calibrated(methods);
      bar.step('the machine');
      const rows: ExpertsRow[] = [];
      for (const policy of policies) {
        const measured = await measureExperts(
          { ...task, policy, memory: ground === undefined ? memory : undefined },
          { ground, limits },
        );
        rows.push(answersOf({ policy, routing, tokens, warmUp, known: machineOf(policy.method) }, measured));
        bar.step(policyName(policy));
      }
      const table = { columns: EXPERTS_COLUMNS, rows, sparse: true };
      return {
        subtitle,
        findings: findings(rows),
        data: {
          settings,
          tokens,
          warmUp,
          cells: rows.map(({ policy, measured }) => ({ policy, measured })),
          machines: Object.fromEntries(methods.map((method) => [method, machineOf(method)])),
          rows: tableJson(table),
        },
        text: [terminalTable(table)],
        files: { 'experts.csv': tableCsv(table) },
        page: {
          title: 'Experts that don’t fit',
          sections: [
            { title: 'Simulated against measured', blocks: [expertsPicture(rows)] },
            { title: 'Policies', blocks: [tableBlock(table)] },
          ],
        },
      };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
});

function expertsOfShape({ kinds }: Shape): Experts {
  const found = kinds.flatMap(({ feedForward }) => (feedForward?.kind === 'experts' ? [feedForward] : []));
  return found[0] as Experts;
}

/** The first layers of the first routing with this many experts. */
function recorded(file: string, { layers, experts }: Pick<Routing, 'layers' | 'experts'>): Routing {
  const found = [...parseRoutings(readTextFile(file), file).values()].find(
    (one) => one.experts === experts && one.layers >= layers,
  );
  if (found === undefined)
    throw new InputError(file, `has no routing of ${experts} experts in at least ${layers} layers`);
  const chosen = Array.from({ length: found.tokens }, (_, token) =>
    Array.from({ length: layers }, (_unused, layer) => [...expertsOf(found, token, layer)]),
  ).flat(2);
  return { ...found, layers, chosen: Uint16Array.from(chosen) };
}

/** Whether a device's reads follow from the routing of its layers alone: what a router would choose isn't known. */
function isReplayed({ lookahead }: ExpertsPolicy): boolean {
  return lookahead.kind !== 'next-router';
}

function findings(rows: readonly ExpertsRow[]): string[] {
  const cached = rows.filter(({ different }) => different !== undefined);
  const accesses = cached.reduce((sum, row) => sum + row.accesses, 0);
  const different = cached.reduce((sum, row) => sum + (row.different ?? 0), 0);
  const errors = (whose: 'predicted' | 'simulated', what: 'readBytes' | 'tokenSeconds'): string => {
    const off = rows.flatMap(({ measured, [whose]: answer }) =>
      answer === undefined || measured[what] === 0 ? [] : [Math.abs(answer[what] / measured[what] - 1)],
    );
    if (off.length === 0) return 'no cell';
    return `${formatPercent(median(off))} in the median of ${off.length} cells, ${formatPercent(Math.max(...off))} at worst`;
  };
  return [
    `A token’s seconds are simulated within ${errors('simulated', 'tokenSeconds')}.`,
    `They are predicted within ${errors('predicted', 'tokenSeconds')}; bytes simulated within ${errors('simulated', 'readBytes')}, predicted within ${errors('predicted', 'readBytes')}. ${accesses - different} of ${accesses} accesses to slots read what the policy’s caches say. Nothing is fitted to these cells: the machine was measured by runs of other policies.`,
  ];
}
