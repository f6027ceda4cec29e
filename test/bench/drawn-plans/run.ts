import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { formatDeviation, formatPercent } from '../../../engine/input/format.ts';
import { readCount } from '../../../engine/terminal/options.ts';
import { reportError } from '../../../engine/terminal/report-error.ts';
import { type Column, terminalTable } from '../../../experiments/report/columns.ts';
import { median } from '../../../experiments/report/median.ts';
import { type DrawnPlan, drawPlans } from './draw.ts';
import { HEARTH, hearth, hereTwice, questionOf } from './question.ts';

/**
 * Draws plans of all kinds, has `hearth answers` predict, simulate and measure each, and says how far TPOT was off. Devices
 * besides the head are workers on this machine; a chip is this machine slowed, as in experiments/npu-measured.
 */
const HELP = `npx tsx test/bench/drawn-plans/run.ts [options]

  --seed <n>      of the plans (default: 1)
  --from <n>      number of the first plan, from 0 on (default: 0)
  --plans <n>     plans (default: 10)
  --repeats <n>   runs of each (default: 5)
  --facts <file>  cluster file of hearth profile, for all devices but chips, with assumed links of 100 us and 10 Gbps
                  (default: devices describe themselves, and links are measured)
  --device <name> a GPU of hearth inspect --devices (default: plans with one are skipped)
  --out <folder>  models, plans and answers (default: results/drawn-plans)
`;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    from: { type: 'string', default: '0' },
    plans: { type: 'string', default: '10' },
    repeats: { type: 'string', default: '5' },
    facts: { type: 'string' },
    device: { type: 'string' },
    out: { type: 'string', default: 'results/drawn-plans' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

/** Starts a worker on this machine. */
async function startWorker(model: string): Promise<{ readonly address: string; stop(): void }> {
  const child = spawn('node', [
    HEARTH,
    'worker',
    '--model',
    model,
    '--plain',
    '--listen',
    'tcp://127.0.0.1:*',
    '--threads',
    '1',
    '--device',
    'none',
  ]);
  child.stderr.setEncoding('utf8');
  let text = '';
  const address = await new Promise<string>((resolve, reject) => {
    child.stderr.on('data', (chunk: string) => {
      text += chunk;
      const found = /listens at (?:tcp:\/\/)?(\S+?),? /.exec(`${text} `);
      if (found?.[1] !== undefined) resolve(found[1]);
    });
    child.once('exit', () => reject(new Error(`the worker ended: ${text}`)));
  });
  return { address, stop: () => void child.kill('SIGKILL') };
}

interface Row {
  readonly plan: number;
  readonly drawn: DrawnPlan;
  readonly predicted?: number;
  readonly simulated?: number;
  readonly measured?: number;
  readonly problem?: string;
}

async function answer(plan: number, drawn: DrawnPlan, out: string): Promise<Row> {
  const folder = join(out, `plan-${plan}`);
  mkdirSync(folder, { recursive: true });
  const question = await questionOf(drawn, out, 1);
  if (question.onGpu && values.device === undefined) return { plan, drawn, problem: 'no GPU was named' };
  const file = (name: string, content: object): string => {
    const path = join(folder, name);
    writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`);
    return path;
  };
  const worker = question.hasWorker ? await startWorker(question.model) : undefined;
  const { promptTokens, outputTokens } = drawn;
  try {
    const args = [
      'answers',
      '--plan',
      file('plan.json', question.plan),
      '--model',
      question.model,
      '--json',
      '--plain',
    ];
    args.push(
      '--prompt',
      `${promptTokens}`,
      '--tokens',
      `${outputTokens}`,
      '--repeats',
      values.repeats,
      '--threads',
      '1',
    );
    const cluster = question.cluster ?? (values.facts === undefined ? undefined : hereTwice(values.facts));
    if (cluster !== undefined) args.push('--cluster', file('cluster.json', cluster));
    if (question.onGpu) args.push('--device', values.device as string);
    if (worker !== undefined) args.push('--worker', worker.address);
    const { stdout } = await hearth('node', [HEARTH, ...args], { maxBuffer: 2 ** 26 });
    writeFileSync(join(folder, 'answers.json'), stdout);
    const found = JSON.parse(stdout);
    const seconds = (name: string): number | undefined => found[name]?.tpot.seconds;
    return {
      plan,
      drawn,
      predicted: seconds('predicted'),
      simulated: seconds('simulated'),
      measured: seconds('measured'),
      problem: found.notMeasured,
    } as Row;
  } catch (error) {
    return {
      plan,
      drawn,
      problem:
        String((error as { stderr?: string }).stderr || (error as Error).message)
          .trim()
          .split('\n')
          .at(-1) ?? '',
    };
  } finally {
    worker?.stop();
  }
}

async function main(): Promise<void> {
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const [seed, from, plans] = [
    readCount('--seed', values.seed, 0, 2 ** 31),
    readCount('--from', values.from, 0, 1000),
    readCount('--plans', values.plans, 1, 1000),
  ];
  mkdirSync(values.out, { recursive: true });
  const rows: Row[] = [];
  for (const [index, drawn] of drawPlans(seed, from + plans).entries()) {
    if (index < from) continue;
    process.stderr.write(`plan ${index}: ${JSON.stringify(drawn)}\n`);
    rows.push(await answer(index, drawn, values.out));
    writeFileSync(join(values.out, `register-${seed}-${from}.json`), `${JSON.stringify({ seed, rows }, null, 2)}\n`);
  }
  const seconds = (name: 'predicted' | 'simulated' | 'measured'): Column<Row> => ({
    ...{ title: name, value: (row) => row[name], unit: 'seconds' },
  });
  const error = (name: 'predicted' | 'simulated'): Column<Row> => ({
    ...{ title: `${name} is`, align: 'right', value: () => undefined },
    text: ({ measured, [name]: found }) =>
      measured === undefined || found === undefined ? '' : formatDeviation(found / measured),
  });
  const columns: readonly Column<Row>[] = [
    { title: 'plan', value: ({ plan }) => plan },
    { title: 'kind', value: ({ drawn }) => `${drawn.kind}, ${drawn.mix}`, label: true },
    ...(['predicted', 'simulated', 'measured'] as const).map(seconds),
    ...(['predicted', 'simulated'] as const).map(error),
    { title: 'not measured', value: ({ problem }) => problem },
  ];
  process.stdout.write(terminalTable({ columns, rows, sparse: true }));
  for (const name of ['predicted', 'simulated'] as const) {
    const errors = rows.flatMap(({ measured, [name]: found }) =>
      measured === undefined || found === undefined ? [] : [Math.abs(found / measured - 1)],
    );
    if (errors.length === 0) continue;
    const [middle, worst] = [formatPercent(median(errors)), formatPercent(Math.max(...errors))];
    process.stdout.write(`TPOT ${name}: median ${middle}, worst ${worst}, of ${errors.length} plans\n`);
  }
}

await main().catch((error: unknown) => {
  process.exitCode = reportError(error, 'drawn-plans');
});
