import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ownModule } from '../../../engine/gguf/own-module.ts';
import { readChoice, readList, readNumber } from '../../../engine/terminal/options.ts';
import { reportError } from '../../../engine/terminal/report-error.ts';
import type { ModelsTask } from './make-models.ts';
import { modelsFolder } from './models.ts';
import { type Cell, emptyResults, type GpuResults, type StepResults } from './results.ts';
import type { StepMessage } from './step.ts';
import type { StepTask } from './step-tools.ts';
import { STEPS } from './steps/steps.ts';

const HELP = `./run.sh OUT [options]

Measures this machine’s GPU, without network: results go to OUT/results.json, which is written after every cell.

${STEPS.map(({ name, title }, index) => `  ${index + 1} ${name.padEnd(8)}  ${title}`).join('\n')}

  --minutes 9        all steps together; what a step doesn’t use, the others have
  --steps 1,2,4      numbers or names of steps; all unless given (the first always runs)
  --models <folder>  where models are made; in /dev/shm where it has room, else in TMPDIR
  --device <name>    the GPU, by a part of its name
  --help
`;

/** The origin of the box, as the box's packer wrote it. */
const ORIGIN = new URL('../../../origin.json', import.meta.url);

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      minutes: { type: 'string', default: '9' },
      steps: { type: 'string' },
      models: { type: 'string' },
      device: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const [out, ...more] = positionals;
  if (values.help || out === undefined || more.length > 0) {
    process.stdout.write(HELP);
    process.exitCode = values.help ? 0 : 2;
    return;
  }
  const minutes = readNumber('--minutes', values.minutes, 0.1, 120);
  const chosen = values.steps === undefined ? STEPS : chosenSteps(values.steps);
  mkdirSync(out, { recursive: true });
  const folder = values.models ?? modelsFolder(tmpdir());
  mkdirSync(folder, { recursive: true });
  await runKit({ out, minutes, chosen, folder, isOwn: values.models === undefined, device: values.device });
}

function chosenSteps(text: string): typeof STEPS {
  const names = STEPS.map(({ name }) => name);
  const asked = readList('--steps', text).map((item) => names[Number(item) - 1] ?? readChoice('--steps', item, names));
  return STEPS.filter(({ name }, index) => index === 0 || asked.includes(name));
}

interface Kit {
  readonly out: string;
  readonly minutes: number;
  readonly chosen: typeof STEPS;
  readonly folder: string;
  /** Whether the folder of models is the box's own, which is removed in the end. */
  readonly isOwn: boolean;
  readonly device: string | undefined;
}

async function runKit({ out, minutes, chosen, folder, isOwn, device }: Kit): Promise<void> {
  const results = emptyResults(originOf(minutes));
  const save = (): void => {
    const file = join(out, 'results.json');
    writeFileSync(`${file}.tmp`, `${JSON.stringify(results, null, 1)}\n`);
    renameSync(`${file}.tmp`, file);
  };
  const log = openSync(join(out, 'log.txt'), 'a');
  const running = new Set<ChildProcess>();
  const kill = (child: ChildProcess): void => {
    running.delete(child);
    if (child.pid === undefined || child.exitCode !== null) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {} // It has ended by itself.
  };
  const start = (url: URL, task: StepTask | ModelsTask): ChildProcess => {
    const { path, args, execArgv } = ownModule(url);
    const child = fork(path, [...args, JSON.stringify(task)], {
      ...{ execArgv: [...execArgv], detached: true, stdio: ['ignore', log, log, 'ipc'] },
    });
    running.add(child);
    return child;
  };
  const end = (): void => {
    for (const child of running) kill(child);
    if (isOwn) rmSync(folder, { recursive: true, force: true });
    else removeUnfinished(folder);
  };
  const stop = (): never => {
    end();
    for (const step of results.steps) if (step.state === 'running') step.state = 'cut off';
    save();
    process.exit(1);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  process.on('SIGHUP', stop);
  const library = join(import.meta.dirname, '../../../node_modules/node-llama-cpp');
  const peer = readOrigin().peer === undefined ? undefined : library;
  let software = false;
  let maker: { readonly child: ChildProcess; readonly ended: Promise<unknown> } | undefined;
  for (const [index, step] of chosen.entries()) {
    const later = chosen.slice(index);
    const begun = now();
    const weights = later.reduce((sum, { weight }) => sum + weight, 0);
    const allowed = stepSeconds(60 * minutes * (1 - RESERVE) - begun, step.weight / weights);
    const kept: StepResults = { name: step.name, state: 'running', seconds: 0, allowed, cells: [] };
    results.steps.push(kept);
    save();
    process.stdout.write(`${STEPS.indexOf(step) + 1} ${step.name}: ${step.title} (at most ${allowed.toFixed(0)} s)\n`);
    if (TIMED.includes(step.name) && maker !== undefined) {
      await Promise.race([maker.ended, delay(1000 * MAKING_SHARE * allowed, undefined, { ref: false })]);
      kill(maker.child);
      maker = undefined;
    }
    const seconds = allowed - (now() - begun);
    let summary = 'no time is left';
    if (allowed === 0) kept.state = 'left out';
    else {
      const child = start(new URL('./step.ts', import.meta.url), {
        ...{ step: step.name, seconds: (1 - GRACE) * seconds, device, software, models: folder, peer },
      });
      summary = await watched(child, { kept, seconds, save, kill });
    }
    kept.seconds = now() - begun;
    process.stdout.write(`  ${kept.seconds.toFixed(1)} s: ${summary}\n`);
    save();
    if (maker === undefined) removeUnfinished(folder);
    const [first] = kept.cells;
    if (first?.kind === 'device') software = first.software;
    if (index === 0 && kept.state !== 'ended') {
      process.exitCode = 1;
      break;
    }
    if (index === 0 && chosen.some(({ name }) => TIMED.includes(name) && name !== 'profile')) {
      const task = { folder, software, count: MADE_BEFORE };
      const child = start(new URL('./make-models.ts', import.meta.url), task);
      child.on('message', (cell: Cell | null) => {
        if (cell !== null) kept.cells.push(cell);
      });
      maker = { child, ended: once(child, 'exit') };
    }
  }
  end();
}

/** Removes what processes were writing when they were killed. */
function removeUnfinished(folder: string): void {
  for (const name of readdirSync(folder)) if (name.endsWith('.tmp')) rmSync(join(folder, name), { force: true });
}

/** Seconds since Node was started. */
const now = (): number => performance.now() / 1000;

/** Part of the time that no step has: before Node's start, and after the last step until models are removed; 15 s of 9 minutes. */
const RESERVE = 1 / 36;

/** Seconds that a step may take in a short run, as long as there are any left. */
const LEAST_SECONDS = 20;

/** No step is begun with less time left. */
const BEGUN_SECONDS = 1;

/**
 * Seconds that a step may take, until it is killed.
 * @param left seconds until the last step must have ended
 * @param share the step's part of them
 * @returns 0: no time is left
 */
function stepSeconds(left: number, share: number): number {
  return left < BEGUN_SECONDS ? 0 : Math.max(Math.min(left, LEAST_SECONDS), left * share);
}

/** Steps that measure times, during which no models are made. */
const TIMED: readonly string[] = STEPS.slice(2).map(({ name }) => name);

/** Models that are made while the first steps run. */
const MADE_BEFORE = 3;

/** Part of the first timed step's seconds that models may still take; what isn't made by then is made by who needs it. */
const MAKING_SHARE = 0.5;

/** Part of a step's seconds that it doesn't know of, in which what it told before it is killed is kept. */
const GRACE = 0.02;

/** Keeps what a step tells until it ends or its time is over. @returns its summary */
function watched(
  child: ChildProcess,
  {
    kept,
    seconds,
    save,
    kill,
  }: {
    readonly kept: StepResults;
    readonly seconds: number;
    readonly save: () => void;
    readonly kill: (child: ChildProcess) => void;
  },
): Promise<string> {
  const begun = performance.now();
  return new Promise((resolve) => {
    let summary: string | undefined;
    const end = (state: StepResults['state'], text: string): void => {
      if (kept.state !== 'running') return;
      clearTimeout(timer);
      kill(child);
      kept.state = state;
      if (state === 'failed') kept.reason = text;
      resolve(text);
    };
    const timer = setTimeout(
      () => end('cut off', `cut off after ${seconds.toFixed(0)} s; ${kept.cells.length} cells are kept`),
      1000 * seconds,
    );
    child.on('message', (message: StepMessage) => {
      switch (message.kind) {
        case 'cell': {
          keep(kept.cells, message.cell);
          kept.seconds = (performance.now() - begun) / 1000;
          save();
          if (message.line !== undefined) process.stdout.write(`  ${message.line}\n`);
          return;
        }
        case 'line':
          process.stdout.write(`  ${message.line}\n`);
          return;
        case 'ended':
          summary = message.summary;
          return end('ended', summary);
        case 'failed':
          return end('failed', message.reason);
      }
    });
    child.on('exit', (code, signal) =>
      end('failed', `its process ended (${signal ?? `exit code ${code}`}); see log.txt`),
    );
  });
}

/** Keeps a cell, in place of an earlier measurement of the same. */
function keep(cells: Cell[], cell: Cell): void {
  const key = keyOf(cell);
  const before = key === undefined ? -1 : cells.findIndex((one) => keyOf(one) === key);
  if (before === -1) cells.push(cell);
  else cells[before] = cell;
}

/** By which a cell is found that is measured in rounds; `undefined`: it is measured once. */
function keyOf(cell: Cell): string | undefined {
  switch (cell.kind) {
    case 'quantity':
      return `quantity ${cell.name}`;
    case 'profile':
      return 'profile';
    case 'split':
      return `split ${cell.cpuUnits}`;
    case 'batch':
      return `batch ${cell.requests}`;
    case 'experts':
      return `experts ${cell.cpuExperts}`;
    case 'contest':
      return `contest ${cell.model} ${cell.mix} ${cell.discipline} ${cell.tokens}`;
    case 'device':
    case 'check':
    case 'model':
    case 'ring':
    case 'missing':
      return undefined;
  }
}

interface Origin {
  readonly version: string;
  readonly commit: string;
  /** The peer in the box; `undefined`: none. */
  readonly peer?: string;
}

function readOrigin(): Origin {
  return JSON.parse(readFileSync(ORIGIN, 'utf8')) as Origin;
}

function originOf(minutes: number): Omit<GpuResults, 'form' | 'steps'> {
  const { version, commit } = readOrigin();
  const read = (path: string): string => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return '';
    }
  };
  const report = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  const [glibc, system] = [report.header.glibcVersionRuntime ?? '', process.env.HEARTH_SYSTEM_GLIBC];
  return {
    hearth: { version, commit },
    begun: new Date().toISOString(),
    minutes,
    machine: {
      processor: cpus()[0]?.model ?? '',
      cores: availableParallelism(),
      memory: totalmem(),
      system: /^PRETTY_NAME="?([^"\n]*)/m.exec(read('/etc/os-release'))?.[1] ?? '',
      glibc: system === undefined ? glibc : `${system}, run by the box’s ${glibc}`,
      node: process.version,
      driver: read('/proc/driver/nvidia/version').split('\n')[0] || null,
    },
  };
}

try {
  await main();
} catch (error) {
  process.exitCode = reportError(error, 'run.sh');
}
