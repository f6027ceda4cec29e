import { setFlagsFromString } from 'node:v8';
import { Command } from 'commander';
import { loadFieldAccuracy } from '../datasets/field.ts';
import { createNamedModel, loadCatalogue, loadCluster, loadDevices } from '../datasets/load.ts';
import { withFile } from '../engine/gguf/file-source.ts';
import { modelFromGguf } from '../engine/gguf/model-from-gguf.ts';
import { type CatalogueModel, isPublished, usualMix } from '../engine/gguf/parse-models.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import type { Cluster } from '../engine/hardware/cluster.ts';
import { parseCluster } from '../engine/hardware/parse-cluster.ts';
import { type CataloguePart, MACHINE_KINDS } from '../engine/hardware/parse-devices.ts';
import { namedPart, partsOf, presetCluster, readPreset } from '../engine/hardware/preset-cluster.ts';
import { InputError, nearestNames, suggestion } from '../engine/input/input-error.ts';
import { FILE_MIXES, type FileMix } from '../engine/model/mix.ts';
import type { Model } from '../engine/model/model.ts';
import { createWorkload } from '../engine/model/workload.ts';
import { cachesExperts } from '../engine/plan/plan.ts';
import { leftOutLine } from '../engine/schedule/with-relays.ts';
import { readChoice, readCount, readList, readNumber } from '../engine/terminal/options.ts';
import { createProgress } from '../engine/terminal/progress.ts';
import { MOST_DRAFTED } from '../engine/text/speculation/create-speculation.ts';
import { type Answer, answer, type RunnableAnswer } from '../planner/answer.ts';
import { type UpgradeParts, upgradeParts, upgrades, withoutDevices } from '../planner/changes.ts';
import { commandLines } from '../planner/command-lines.ts';
import { type PlannedDrafts, plannedDrafts } from '../planner/draft-answers.ts';
import type { Question } from '../planner/question.ts';
import { simulatedTokenRange } from '../planner/simulated-times.ts';
import { catalogueAnswers } from './catalogue-answers.ts';
import { checkOutputFile, FORCE, type OutputFile, writeOutputFile } from './output-file.ts';
import { answerLines, type DetailedAnswer, detailText } from './plan-report.ts';
import { readAheadLines } from './read-ahead-notice.ts';
import { OPTIONS, readKvCache, repeated } from './shared-options.ts';

interface Options {
  readonly cluster?: string;
  readonly device: readonly string[];
  readonly link: string;
  readonly devices?: true;
  readonly head?: string;
  readonly model: readonly string[];
  readonly modelFile?: string;
  readonly mix?: string;
  readonly prompt: string;
  readonly context: string;
  readonly kv: string;
  readonly draft?: string;
  readonly acceptance?: string;
  readonly savePlan?: string;
  readonly saveCluster?: string;
  readonly force?: true;
  readonly json?: true;
}

/** `hearth plan`: what a cluster can run, how fast, and what would make it faster. */
export function planCommand(): Command {
  return new Command('plan')
    .description('Says which models a cluster can run, how, and how fast: predicted and simulated.')
    .option('--cluster <name>', 'a cluster file, from hearth profile or by hand, or one of datasets/clusters')
    .option(
      '--device <name>',
      'instead of --cluster: a machine of datasets/devices.csv, such as "Desktop Ryzen 7 7700 32 GB + RTX 3060 12 GB"; ' +
        'a GPU, a disk or RAM such as "64 GiB" may be added to it; may be repeated',
      repeated,
      [],
    )
    .option('--link <name>', 'the network between --device machines', 'Wi-Fi 6')
    .option('--head <name>', 'the device that embeds tokens and computes the output layer (default: the best one)')
    .option('--devices', 'list the machines, parts and networks that --device and --link take')
    .option(
      '--model <name>',
      'more about one model: a GGUF file, or a name of datasets/models.csv such as Llama-3-8B:Q8_0; may be repeated',
      repeated,
      [],
    )
    .option(
      '--model-file <file>',
      'your own models, in addition to those on file (CSV, columns as datasets/models.csv)',
    )
    .option(
      '--mix <name>',
      `quantization of models that are named without one: ${FILE_MIXES.join(', ')} (default: Q4_K_M, or MXFP4_MOE of models that are published in it)`,
    )
    .option('--prompt <n>', 'tokens of the prompt, for the time of the first token', '128')
    .option('--context <n>', 'tokens that are in the KV cache while a token is generated', '1024')
    .addOption(OPTIONS.kvCache)
    .option(
      '--draft <name>',
      'with --model: a small model with the same vocabulary, named as --model is; shows how many tokens it should draft at a time, and what that gains',
    )
    .option(
      '--acceptance <list>',
      `with --draft: shares of drafted tokens that are accepted (default: ${ACCEPTANCE_RATES.join(',')})`,
    )
    .option('--save-plan <file>', 'writes the plan, for hearth run and experiments; with one --model')
    .option(
      '--save-cluster <file>',
      'writes the cluster of --device and --link as a cluster file, with the sources of its numbers',
    )
    .addOption(FORCE)
    .option('--json', 'print it as JSON; times in seconds, sizes in bytes')
    .action(run);
}

async function run(options: Options): Promise<void> {
  // Planning runs much code, most of it a few times, and each thread learns it anew: it gains more from being compiled at once
  // than from what V8 learns. V8 11 (Node.js 20) has no compiler between the first and the slowest: it is asked later, for less.
  setFlagsFromString('--always-sparkplug');
  if (process.versions.v8.startsWith('11.'))
    for (const flag of ['--interrupt-budget=500000', '--max-inlined-bytecode-size-cumulative=300'])
      setFlagsFromString(flag);
  const parts = loadDevices();
  if (options.devices) {
    process.stdout.write(options.json ? `${JSON.stringify(partsByKind(parts), null, 2)}\n` : partsText(parts));
    return;
  }
  const chosen = readCluster(options, parts);
  const { cluster } = chosen;
  const key = options.saveCluster ?? chosen.key;
  const bought = upgradeParts(parts);
  const promptTokens = readCount('--prompt', options.prompt, 1, 1e6);
  const context = Math.max(promptTokens, readCount('--context', options.context, 1, 1e6));
  const workload = createWorkload({ promptTokens, context, kvFormat: readKvCache(options.kv) });
  const catalogue = loadCatalogue(options.modelFile);
  const models = readModels(options, catalogue);
  const drafts = readDraft(options, catalogue);
  const head = options.head === undefined ? undefined : readHead(options.head, cluster);
  const leftOut = leftOutLine(cluster);
  if (leftOut !== undefined) process.stderr.write(`${leftOut}\n`);
  const output = options.savePlan === undefined ? undefined : outputFile(options.savePlan, options);
  const saved = clusterOutput(chosen, options);
  const progress = createProgress(models.length);
  const asked = { cluster, workload, head };
  const step = (name: string): void => progress.step(name);
  const detailed =
    options.model.length === 0
      ? (
          await catalogueAnswers(
            asked,
            models.map(({ model }) => model),
            step,
          )
        ).map(plainAnswer)
      : models.map(({ model, file }) => {
          step(model.name);
          return detail({ ...asked, model }, { file, key, bought, drafts });
        });
  progress.stop();
  if (saved !== undefined) saveCluster(saved, chosen, detailed);
  if (output !== undefined) savePlan(detailed, output);
  if (options.json) process.stdout.write(`${JSON.stringify(detailed.map(jsonOf), null, 2)}\n`);
  else if (options.model.length > 0)
    process.stdout.write(detailed.map((one) => detailText(cluster, loadFieldAccuracy(), one)).join('\n'));
  else
    process.stdout.write(
      answerLines(
        cluster,
        detailed.map(({ answered }) => answered),
      ),
    );
}

const plainAnswer = (answered: Answer): DetailedAnswer => ({ answered, without: [], upgrades: [], commands: [] });

/** A model and the file to name in command lines. */
interface NamedModel {
  readonly model: Model;
  readonly file: string;
}

/** The device of `--head`. @throws InputError for a name that the cluster lacks */
function readHead(name: string, { devices }: Cluster): string {
  const names = devices.map((device) => device.name);
  if (names.includes(name)) return name;
  throw new InputError('--head', `no device is called "${name}"${suggestion(name, names)}`);
}

type Catalogue = ReturnType<typeof loadCatalogue>;

/** The models that are asked about: GGUF files, of which only headers are read, and rows of the catalogue. */
function readModels({ model: names, mix }: Options, catalogue: Catalogue): NamedModel[] {
  const all = names.length > 0 ? names : catalogue.filter(isPublished).map(({ shape }) => shape.name);
  return all.map((name) => readModel(name, { flag: '--model', catalogue, mix: readMix(mix) }));
}

function readMix(mix: string | undefined): FileMix | undefined {
  return mix === undefined ? undefined : readChoice('--mix', mix, FILE_MIXES);
}

interface NamingParts {
  readonly flag: string;
  readonly catalogue: Catalogue;
  /** Mix of models that are named without one; missing: usualMix. */
  readonly mix: FileMix | undefined;
}

function readModel(name: string, { flag, catalogue, mix }: NamingParts): NamedModel {
  if (/\.gguf$/i.test(name)) return { model: modelFromGguf(withFile(name, readGguf)), file: name };
  const known = catalogue.map(({ shape }) => shape.name);
  const colon = known.includes(name) ? -1 : name.lastIndexOf(':');
  const base = colon < 0 ? name : name.slice(0, colon);
  if (!known.includes(base)) {
    const near = nearestNames(base, known, NEAREST_MODELS).join(', ');
    const other = 'for any other, give its GGUF file, or a CSV with its shape as --model-file';
    throw new InputError(flag, `no model is called "${base}"; nearest: ${near}; ${other}`);
  }
  const row = catalogue.find(({ shape }) => shape.name === base) as CatalogueModel;
  const model = createNamedModel(catalogue, colon < 0 ? `${name}:${mix ?? usualMix(row)}` : name, flag);
  return { model, file: `${model.name}-${model.mix}.gguf` };
}

/** Most models that an error names when the catalogue lacks the one that was asked for. */
const NEAREST_MODELS = 3;

/** A draft model, and the shares of its tokens that are accepted. */
interface AskedDraft extends NamedModel {
  readonly acceptanceRates: readonly number[];
}

/** Acceptance rates without `--acceptance`: typical of drafts with a tenth of the weights, one lower and one higher. */
const ACCEPTANCE_RATES = [0.6, 0.8, 0.9];

/** The draft of `--draft`. @throws InputError */
function readDraft({ draft, acceptance, model, mix }: Options, catalogue: Catalogue): AskedDraft | undefined {
  if (draft === undefined) {
    if (acceptance !== undefined) throw new InputError('--acceptance', 'is used only with --draft; add it');
    return undefined;
  }
  if (model.length === 0) throw new InputError('--draft', 'guesses for one model; name it with --model');
  const rates = acceptance === undefined ? ACCEPTANCE_RATES : readList('--acceptance', acceptance);
  return {
    ...readModel(draft, { flag: '--draft', catalogue, mix: readMix(mix) }),
    acceptanceRates: rates.map((rate) => readNumber('--acceptance', String(rate), 0, 1)),
  };
}

interface ChosenCluster {
  readonly cluster: Cluster;
  /** How command lines name it. */
  readonly key: string;
  /** The cluster file of `--device` and `--link`. */
  readonly text?: string;
}

/** The cluster of `--cluster`, or of `--device` and `--link`. */
function readCluster({ cluster, device, link }: Options, catalogue: readonly CataloguePart[]): ChosenCluster {
  if (cluster !== undefined && device.length > 0)
    throw new InputError('--device', 'describes the machines that --cluster has already; use one of them');
  if (cluster !== undefined) return { cluster: loadCluster(cluster), key: cluster };
  if (device.length === 0)
    throw new InputError(
      '--cluster',
      'is missing; give a cluster, or name machines with --device (--devices lists them)',
    );
  const devices = device.map((text) => readPreset(catalogue, text, '--device'));
  const network = namedPart(catalogue, { name: link, flag: '--link', kinds: ['link'] });
  const text = presetCluster(devices, network);
  return { cluster: parseCluster(text, 'datasets/devices.csv'), key: 'my-devices.json', text };
}

const PART_KINDS = [...MACHINE_KINDS, 'gpu', 'disk', 'link'] as const;

/** The catalogue kind by kind, with the source of each number. */
function partsByKind(catalogue: readonly CataloguePart[]): Record<string, readonly CataloguePart[]> {
  return Object.fromEntries(PART_KINDS.map((kind) => [kind, partsOf(catalogue, kind)]));
}

/** The names of the catalogue, kind by kind. */
function partsText(catalogue: readonly CataloguePart[]): string {
  return Object.entries(partsByKind(catalogue))
    .map(([kind, parts]) => `${kind}\n${parts.map(({ name }) => `  ${name}\n`).join('')}`)
    .join('');
}

interface DetailOptions {
  readonly file: string;
  /** How command lines name the cluster. */
  readonly key: string;
  readonly bought: UpgradeParts;
  readonly drafts: AskedDraft | undefined;
}

function detail(asked: Question, { file, key, bought, drafts: draft }: DetailOptions): DetailedAnswer {
  const plain = answer(asked, { simulates: true, carried: true });
  const drafts = draft === undefined || plain.status === 'does-not-fit' ? undefined : draftsOf(asked, plain, draft);
  const answered = drafts?.answered ?? plain;
  const { cluster, workload } = asked;
  const carried = { cluster, clusterFile: key, file, context: workload.context, kvFormat: workload.kvFormat };
  const plans =
    answered.status === 'does-not-fit' ? [] : [answered.plan, answered.wholeLayers?.plan, answered.carried?.plan];
  const commands = plans.flatMap((plan) => (plan === undefined ? [] : commandLines({ ...carried, plan })));
  const question = { ...asked, cluster: drafts?.cluster ?? cluster };
  const readAhead = answered.status === 'from-disk' ? readAheadLines(question, answered.plan) : [];
  const isPlayed = answered.status !== 'does-not-fit' && answered.simulated !== undefined;
  const range = isPlayed && !cachesExperts(answered.plan) ? simulatedTokenRange(question, answered.plan) : undefined;
  return {
    answered,
    ...(range && { range }),
    without: withoutDevices(question),
    upgrades: upgrades(question, bought),
    commands,
    ...(readAhead.length > 0 && { readAhead }),
    ...(drafts !== undefined && { drafts }),
  };
}

function draftsOf(
  question: Question,
  plain: RunnableAnswer,
  { model: draft, file, acceptanceRates }: AskedDraft,
): PlannedDrafts & { readonly file: string } {
  const { vocabularySize } = question.model;
  if (draft.vocabularySize !== vocabularySize)
    throw new InputError(
      '--draft',
      `${draft.name} has ${draft.vocabularySize} tokens, and ${question.model.name} has ${vocabularySize}; a draft needs the same vocabulary`,
    );
  return { file, ...plannedDrafts({ question, plain, draft, acceptanceRates, most: MOST_DRAFTED }) };
}

function outputFile(path: string, { model, cluster, force }: Options): OutputFile {
  if (model.length !== 1) throw new InputError('--save-plan', 'writes one plan; name one --model');
  const inputs = [model[0], cluster].filter((one) => one !== undefined);
  return checkOutputFile({ flag: '--save-plan', path, kind: 'a plan', inputs, force: force === true });
}

function clusterOutput({ text }: ChosenCluster, { saveCluster: path, force }: Options): OutputFile | undefined {
  if (path === undefined) return undefined;
  if (text === undefined)
    throw new InputError('--save-cluster', 'writes the machines of --device; --cluster is a file already');
  return checkOutputFile({ flag: '--save-cluster', path, kind: 'a cluster file', inputs: [], force: force === true });
}

/** Writes the cluster; with one model, the head is that of its plan. */
function saveCluster(file: OutputFile, { text = '' }: ChosenCluster, detailed: readonly DetailedAnswer[]): void {
  const [one] = detailed;
  const answered = detailed.length === 1 ? one?.answered : undefined;
  const head = answered === undefined || answered.status === 'does-not-fit' ? undefined : answered.plan.output.device;
  writeOutputFile(file, `${JSON.stringify({ ...JSON.parse(text), ...(head && { head }) }, null, 2)}\n`);
}

function savePlan([one]: readonly DetailedAnswer[], output: OutputFile): void {
  const answered = one?.answered as Answer;
  if (answered.status === 'does-not-fit') throw new InputError('--save-plan', answered.reason);
  writeOutputFile(output, `${JSON.stringify(answered.plan, null, 2)}\n`);
}

/** The answer without the model's list of tensors. */
function jsonOf({ answered, drafts, ...rest }: DetailedAnswer): object {
  const { name, mix, bytes, layers } = answered.model;
  const { device, draftBytes, draftSeconds, answers } = drafts ?? {};
  const drafted = drafts !== undefined && { drafts: { device, draftBytes, draftSeconds, answers } };
  return { ...answered, model: { name, mix, bytes, layers }, ...rest, ...drafted };
}
