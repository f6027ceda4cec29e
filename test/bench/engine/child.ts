import { type ChildProcess, fork } from 'node:child_process';
import { ownModule } from '../../../engine/gguf/own-module.ts';
import { InputError } from '../../../engine/input/input-error.ts';
import type { Answer, Limits, LimitsOf, Request, Task } from './contestant.ts';
import type { Engine } from './engine.ts';
import { NODE_LLAMA } from './find-llama.ts';
import type { MemoryUse } from './memory-use.ts';

/** A contestant as its parent process sees it. */
export interface Child extends Engine {
  /** Memory of the process before the engine was loaded. */
  readonly before: MemoryUse;
  memory(): Promise<MemoryUse>;
  /** Default: all of them. */
  limits(of?: LimitsOf): Promise<Limits>;
}

/** Names of engines in tables. */
const NAMES = { hearth: 'Hearth', 'hearth-gpu': 'Hearth', llama: NODE_LLAMA } as const;

/**
 * Limits Node's own pool to one thread: with more, llama.cpp's threads migrate between tokens, which costs it up to 40
 * % of decoding at 2 threads.
 */
const BEST_FOR_LLAMA = { UV_THREADPOOL_SIZE: '1' };

/**
 * Starts an engine and loads the model.
 * @param signal ends its process at once, whatever it is doing
 * @throws InputError with the child's message if that fails
 */
export async function startChild(engine: keyof typeof NAMES, task: Task, signal?: AbortSignal): Promise<Child> {
  const { path, args, execArgv } = ownModule(new URL(`./${engine}-child.ts`, import.meta.url));
  const process_ = fork(path, [...args, JSON.stringify(task)], {
    execArgv: [...execArgv],
    env: engine === 'llama' ? { ...process.env, ...BEST_FOR_LLAMA } : process.env,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    killSignal: 'SIGKILL',
    signal,
  });
  process_.on('error', () => {}); // The signal's: whoever waits for an answer sees that the process ended.
  const ready = await answerOf(process_, engine, 'ready');
  const ask = async <Kind extends Answer['kind']>(request: Request, kind: Kind) => {
    process_.send(request);
    return answerOf(process_, engine, kind);
  };
  return {
    name: NAMES[engine],
    description: ready.description,
    continues: true,
    before: ready.before,
    prefill: async (tokens) => (await ask({ kind: 'prefill', tokens }, 'turn')).turn,
    decode: async (tokens) => (await ask({ kind: 'decode', tokens }, 'turn')).turn,
    requests: async (requests, tokens) => (await ask({ kind: 'requests', requests, tokens }, 'turn')).turn,
    memory: async () => (await ask({ kind: 'memory' }, 'memory')).memory,
    limits: async (of = 'all') => (await ask({ kind: 'limits', of }, 'limits')).limits,
    close: () => void process_.kill(),
  };
}

/** The next answer, which must be of the given kind. */
function answerOf<Kind extends Answer['kind']>(
  child: ChildProcess,
  engine: string,
  kind: Kind,
): Promise<Extract<Answer, { kind: Kind }>> {
  return new Promise((resolve, reject) => {
    const forget = (): void => {
      child.off('message', onMessage);
      child.off('exit', onExit);
    };
    const onExit = (code: number | null, signal: string | null): void => {
      forget();
      reject(new InputError(engine, `the process ended (${signal ?? `exit code ${code}`})`));
    };
    const onMessage = (answer: Answer): void => {
      forget();
      if (answer.kind === kind) resolve(answer as Extract<Answer, { kind: Kind }>);
      else
        reject(new InputError(engine, answer.kind === 'failed' ? answer.message : `${answer.kind} instead of ${kind}`));
    };
    child.on('message', onMessage);
    child.on('exit', onExit);
    if (child.exitCode !== null || child.signalCode !== null) onExit(child.exitCode, child.signalCode);
  });
}
