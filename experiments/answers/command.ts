import { availableParallelism } from 'node:os';
import { Command } from 'commander';
import { deviceProfile } from '../../commands/device-profile.ts';
import { findRingGpu } from '../../commands/found-gpu.ts';
import { deviceMemoryLimit, readDeviceMemory, readLinkKeys } from '../../commands/ring-options.ts';
import { OPTIONS, readKernels, readKvCache, repeated } from '../../commands/shared-options.ts';
import { readPlan } from '../../commands/split.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { chipDevice } from '../../engine/hardware/chip.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { KernelOptions } from '../../engine/kernels/open-kernels.ts';
import type { KvFormat } from '../../engine/model/kv-format.ts';
import type { Model } from '../../engine/model/model.ts';
import { cachesExperts, chipPartitions, type Plan } from '../../engine/plan/plan.ts';
import { layersText } from '../../engine/plan/plan-text.ts';
import { validatePlan } from '../../engine/plan/validate-plan.ts';
import type { KeyPair } from '../../engine/ring/wire/keys.ts';
import { readCount } from '../../engine/terminal/options.ts';
import { createProgress } from '../../engine/terminal/progress.ts';
import { terminalWidth, wrapText } from '../../engine/terminal/table.ts';
import { stackedTraces } from '../lab/chrome-trace.ts';
import { terminalTable } from '../report/columns.ts';
import { fileJson } from '../report/experiment.ts';
import { renderPage } from '../report/page/page.ts';
import { checkOutput, writeFiles } from '../report/write.ts';
import { predicted, simulated } from './answers.ts';
import { executorOf } from './executor.ts';
import { type MeasuredAnswer, measureOnRing } from './measure-ring.ts';
import { measureSplit } from './measure-split.ts';
import { type ClusterFile, planMembers, readClusterFile } from './members.ts';
import { answersPage, answersTable, findings, type PlanAnswers, tracesOf } from './report.ts';
import { routingOf } from './routing.ts';

interface Options {
  readonly plan: string;
  readonly model: string;
  readonly cluster?: string;
  readonly worker: readonly string[];
  readonly measure?: true;
  readonly keys?: string;
  readonly plain?: true;
  readonly prompt: string;
  readonly tokens: string;
  readonly repeats: string;
  readonly kv: string;
  readonly memory?: string;
  readonly threads?: string;
  readonly kernels: string;
  readonly exact?: boolean;
  readonly fast?: boolean;
  readonly device?: string;
  readonly json?: true;
  readonly out?: string;
}

const EXAMPLES = `
Examples:
  hearth answers --plan plan.json --model m.gguf
      a plan of this machine, which is measured by hearth profile if it hasn’t been
  hearth answers --plan plan.json --model m.gguf --cluster here.json --out results/plan
      with the facts of a file, and with a page and a trace of both timelines
  hearth answers --plan ring.json --model m.gguf --worker 10.0.0.2:7400,KEY --keys head.key
      a ring whose other device runs hearth worker`;

/** `hearth answers`: the times of one plan, predicted, simulated and measured, and why they differ. */
export function answersCommand(): Command {
  return new Command('answers')
    .description('Predicts, simulates and measures the times of one plan, and says by part why they differ.')
    .requiredOption('--plan <file>', 'a plan, from hearth plan --save-plan or written by hand')
    .addOption(OPTIONS.modelOrPart)
    .option(
      '--cluster <name>',
      'a cluster file, from hearth profile or by hand, or one of datasets/clusters (default: as the devices are measured)',
    )
    .option(
      '--worker <address,key>',
      'host:port of a worker and its public key; repeated for the plan’s devices besides its head, in its order (default: the addresses in --cluster)',
      repeated,
      [],
    )
    .addOption(OPTIONS.measure)
    .option('--keys <file>', 'keys of this device, from hearth keygen, for links to workers')
    .option('--plain', 'links to workers without encryption')
    .option('--prompt <n>', 'tokens of the prompt', '32')
    .option('--tokens <n>', 'tokens decoded after it; the first and the last do not count', '16')
    .option(
      '--repeats <n>',
      'runs; the half that other programs disturbed least counts; one more comes before them, and two with a recorder after them',
      '5',
    )
    .addOption(OPTIONS.kvCache)
    .option('--memory <size>', 'limit of the process, such as 640MiB (default: what is available)')
    .addOption(OPTIONS.threads)
    .addOption(OPTIONS.kernels)
    .addOption(OPTIONS.exact)
    .addOption(OPTIONS.fast)
    .addOption(OPTIONS.ringDevice)
    .option('--json', 'print it as JSON; times in seconds, sizes in bytes')
    .option('--out <folder>', 'writes report.html, answers.json and trace.json, for ui.perfetto.dev, there')
    .addHelpText('after', EXAMPLES)
    .action(run);
}

/** A plan with its model, and how it is asked about. */
interface Asked {
  readonly file: string;
  readonly plan: Plan;
  readonly modelFile: string;
  readonly model: Model;
  readonly cluster: ClusterFile | undefined;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly repeats: number;
  readonly kvFormat: KvFormat;
}

/** Fewest tokens decoded of which one counts. */
const LEAST_TOKENS = 3;

async function run(options: Options): Promise<void> {
  if (options.out !== undefined) checkOutput(options.out);
  const asked: Asked = {
    ...{ file: options.plan, plan: readPlan(options.plan), modelFile: options.model },
    model: modelFromGguf(withFile(options.model, readGguf)),
    cluster: options.cluster === undefined ? undefined : readClusterFile(options.cluster, options.plain === true),
    promptTokens: readCount('--prompt', options.prompt, 1, 100_000),
    outputTokens: readCount('--tokens', options.tokens, LEAST_TOKENS, 100_000),
    repeats: readCount('--repeats', options.repeats, 1, 1000),
    kvFormat: readKvCache(options.kv),
  };
  if (asked.cluster !== undefined) validatePlan(asked.plan, asked.cluster.cluster, asked.model, asked.file);
  const answers = await answersOf(asked, options);
  publish(asked, answers, options);
}

async function answersOf(asked: Asked, options: Options): Promise<PlanAnswers> {
  const executor = executorOf(asked.plan, asked.model, asked.file);
  const { file } = asked;
  if (executor.kind === 'none') {
    if (asked.cluster === undefined)
      throw new InputError(
        '--cluster',
        `is missing; the plan is not carried out, so no device is measured (${executor.reason})`,
      );
    const { cluster } = asked.cluster;
    const one = { ...asked, cluster, routing: undefined };
    const both = { predicted: predicted(one), simulated: simulated(one) };
    return { file, plan: asked.plan, ...both, measured: executor.reason };
  }
  const { measured, cluster } = await measure(asked, options, executor.kind);
  const { plan } = measured;
  const routing =
    cachesExperts(plan) || plan.kind === 'expert-parallel'
      ? routingOf(asked, readThreadsOf(asked, options))
      : undefined;
  const one = { ...asked, cluster, plan, routing };
  return { file, plan, predicted: predicted(one), simulated: simulated(one), measured };
}

/** Kernels with as many threads as the device of the cluster file was profiled with, unless others are asked for. */
function readThreadsOf({ plan, cluster }: Asked, options: Options): KernelOptions {
  const head = cluster?.cluster.devices.find(({ name }) => name === plan.embedding.device);
  const threads = head && Math.min(head.cpu.cores, availableParallelism());
  return { ...(threads !== undefined && { threads }), ...readKernels(options) };
}

async function measure(
  asked: Asked,
  options: Options,
  executor: 'ring' | 'split',
): Promise<{ readonly measured: MeasuredAnswer; readonly cluster: Cluster }> {
  const { plan, cluster, modelFile, repeats } = asked;
  const members = planMembers(plan, { workers: options.worker, file: cluster, plain: options.plain === true });
  const keys: KeyPair | undefined = members.length === 0 ? undefined : readLinkKeys(options);
  const memory = readDeviceMemory(options.memory);
  const memoryLimit = deviceMemoryLimit(options.memory);
  const head = plan.embedding.device;
  const isChip = chipPartitions(plan).has(head);
  const usesGpu =
    !isChip &&
    [plan.embedding, plan.output, ...plan.stages].some(
      ({ device, processor }) => device === head && processor === 'gpu',
    );
  const gpu = usesGpu ? await findRingGpu({ name: options.device, exact: options.exact }, log) : undefined;
  if (usesGpu && gpu === undefined)
    throw new InputError(
      '--device',
      `is needed: the plan has layers on a GPU of ${head}, and this machine’s is software, which is used by name only, or missing`,
    );
  const progress = createProgress(repeats + 2);
  const ending = new AbortController();
  const fresh = options.measure === true;
  const parts = {
    ...asked,
    ...{ model: modelFile, memory, fresh, log },
    cluster: cluster?.cluster,
    kernels: readThreadsOf(asked, options),
    profile: (threads: number) =>
      deviceProfile({
        ...{ file: undefined, model: modelFile, threads, gpu: gpu?.name ?? 'none', log },
        signal: ending.signal,
      })(fresh),
    onRun: (what: string) => progress.step(what),
  };
  try {
    if (executor === 'split') return await measureSplit({ ...parts, device: options.device });
    const facts = isChip ? cluster?.cluster.devices.find(({ name }) => name === head) : undefined;
    const chip = facts && chipDevice(facts);
    return await measureOnRing({ ...parts, members, keys, memoryLimit, gpu, chip });
  } finally {
    ending.abort();
    progress.stop();
  }
}

function publish(asked: Asked, answers: PlanAnswers, { json, out }: Options): void {
  const { model, promptTokens, outputTokens, repeats, file } = asked;
  const settings = { promptTokens, outputTokens, repeats };
  const { name, mix, bytes } = model;
  const data = fileJson({ plan: file, model: { name, mix, bytes }, settings, ...jsonOf(answers) });
  const subtitle = `${file}: ${answers.plan.kind}, ${layersText(answers.plan)} · ${name} ${mix} · prompt of ${promptTokens} tokens, ${outputTokens} after it`;
  const summary = [...findings(answers), ...notes(answers)];
  if (out !== undefined) {
    const page = renderPage({ subtitle, summary, ...answersPage(answers) });
    const trace = JSON.stringify(stackedTraces(tracesOf(answers)));
    writeFiles(out, new Map(Object.entries({ 'report.html': page, 'answers.json': data, 'trace.json': trace })));
  }
  if (json) {
    process.stdout.write(data);
    return;
  }
  const width = terminalWidth() - 2;
  const paragraphs = [
    wrapText(subtitle, width).join('\n'),
    terminalTable(answersTable(answers)).trimEnd(),
    ...summary.map((line) => wrapText(line, width).join('\n')),
    ...(out === undefined ? [] : [`Report: ${out}/report.html (next to it answers.json, trace.json)`]),
  ];
  process.stdout.write(`${paragraphs.join('\n\n')}\n`);
}

/** Remarks that readers of the figures need. */
function notes({ plan, measured }: PlanAnswers): string[] {
  if (typeof measured === 'string') return [];
  const { clock, samples, trace } = measured;
  const whose = clock === 'own' ? ', less the time for which others had the processors' : '';
  const counted = `Measured: median of the ${samples.tpot.repeats} runs that others disturbed least${whose}`;
  const stands = [...chipPartitions(plan).keys()].map(
    (name) => `On ${name} a thread stands for the NPU, and the CPU for the GPU.`,
  );
  return [
    trace === undefined ? `${counted}.` : `${counted}; parts are those of a further run with a recorder.`,
    ...stands,
  ];
}

/** The answers without traces. */
function jsonOf({ plan, predicted: closed, simulated: replayed, measured }: PlanAnswers): object {
  const { trace: _, ...rest } = replayed;
  const answers = { carriedOut: plan, predicted: closed, simulated: rest };
  if (typeof measured === 'string') return { ...answers, notMeasured: measured };
  const { trace: _own, plan: _plan, ...own } = measured;
  return { ...answers, measured: own };
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}
