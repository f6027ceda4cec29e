import { Command } from 'commander';
import { createNamedModel, loadCatalogue, loadCluster } from '../../datasets/load.ts';
import { withFile } from '../gguf/file-source.ts';
import { modelFromGguf } from '../gguf/model-from-gguf.ts';
import { readGguf } from '../gguf/read-gguf.ts';
import { InputError } from '../input/input-error.ts';
import { MIXES } from '../model/mix.ts';
import type { Model } from '../model/model.ts';
import { createWorkload } from '../model/workload.ts';
import { type Answer, answer } from '../planner/answer.ts';
import { upgrades, withoutDevices } from '../planner/changes.ts';
import { commandLines } from '../planner/command-lines.ts';
import type { Question } from '../planner/question.ts';
import { readChoice, readCount } from '../terminal/options.ts';
import { checkOutputFile, FORCE, type OutputFile, writeOutputFile } from './output-file.ts';
import { answerLines, type DetailedAnswer, detailText } from './plan-report.ts';
import { repeated } from './shared-options.ts';

interface Options {
  readonly cluster: string;
  readonly model: readonly string[];
  readonly mix: string;
  readonly prompt: string;
  readonly context: string;
  readonly savePlan?: string;
  readonly force?: true;
  readonly json?: true;
}

/** `hearth plan`: what a cluster can run, how fast, and what would make it faster. */
export function planCommand(): Command {
  return new Command('plan')
    .description('Says which models a cluster can run, how, and how fast: predicted and simulated.')
    .requiredOption('--cluster <name>', 'a cluster file, from hearth profile or by hand, or one of datasets/clusters')
    .option(
      '--model <name>',
      'more about one model: a GGUF file, or a name of datasets/models.csv such as Llama-3-8B:Q8_0; may be repeated',
      repeated,
      [],
    )
    .option('--mix <name>', 'quantization of models that are named without one', 'Q4_K_M')
    .option('--prompt <n>', 'tokens of the prompt', '128')
    .option('--context <n>', 'tokens that the KV cache holds', '1024')
    .option('--save-plan <file>', 'writes the plan, for hearth run and experiments; with one --model')
    .addOption(FORCE)
    .option('--json', 'print it as JSON; times in seconds, sizes in bytes')
    .action(run);
}

function run(options: Options): void {
  const cluster = loadCluster(options.cluster);
  const promptTokens = readCount('--prompt', options.prompt, 1, 1e6);
  const context = Math.max(promptTokens, readCount('--context', options.context, 1, 1e6));
  const workload = createWorkload({ promptTokens, context });
  const models = readModels(options);
  const output = options.savePlan === undefined ? undefined : outputFile(options.savePlan, options);
  const detailed = models.map(({ model, file }) => detail({ cluster, model, workload }, file, options));
  if (output !== undefined) savePlan(detailed, output);
  if (options.json) process.stdout.write(`${JSON.stringify(detailed.map(jsonOf), null, 2)}\n`);
  else if (options.model.length > 0) process.stdout.write(detailed.map((one) => detailText(cluster, one)).join('\n'));
  else
    process.stdout.write(
      answerLines(
        cluster,
        detailed.map(({ answered }) => answered),
      ),
    );
}

/** A model and the file to name in command lines. */
interface NamedModel {
  readonly model: Model;
  readonly file: string;
}

/** The models that are asked about: GGUF files, of which only headers are read, and rows of the catalogue. */
function readModels({ model: names, mix }: Options): NamedModel[] {
  const usual = readChoice('--mix', mix, MIXES);
  const catalogue = loadCatalogue();
  const named = (name: string): NamedModel => {
    if (/\.gguf$/i.test(name)) return { model: modelFromGguf(withFile(name, readGguf)), file: name };
    const model = createNamedModel(catalogue, name.includes(':') ? name : `${name}:${usual}`, '--model');
    return { model, file: `${model.name}-${model.mix}.gguf` };
  };
  return (names.length > 0 ? names : catalogue.map(({ shape }) => shape.name)).map(named);
}

function detail(question: Question, file: string, { model: asked, cluster: key }: Options): DetailedAnswer {
  const answered = answer(question, { simulates: true });
  if (asked.length === 0) return { answered, without: [], upgrades: [], commands: [] };
  const { cluster, workload } = question;
  const commands =
    answered.status === 'does-not-fit'
      ? []
      : commandLines({ plan: answered.plan, cluster, clusterFile: key, file, context: workload.context });
  return { answered, without: withoutDevices(question), upgrades: upgrades(question), commands };
}

function outputFile(path: string, { model, cluster, force }: Options): OutputFile {
  if (model.length !== 1) throw new InputError('--save-plan', 'writes one plan; name one --model');
  const inputs = [model[0], cluster];
  return checkOutputFile({ flag: '--save-plan', path, kind: 'a plan', inputs, force: force === true });
}

function savePlan([one]: readonly DetailedAnswer[], output: OutputFile): void {
  const answered = one?.answered as Answer;
  if (answered.status === 'does-not-fit') throw new InputError('--save-plan', answered.reason);
  writeOutputFile(output, `${JSON.stringify(answered.plan, null, 2)}\n`);
}

/** The answer without the model's list of tensors. */
function jsonOf({ answered, ...rest }: DetailedAnswer): object {
  const { name, mix, bytes, layers } = answered.model;
  return { ...answered, model: { name, mix, bytes, layers }, ...rest };
}
