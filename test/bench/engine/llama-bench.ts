import { execFile } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { z } from 'zod';
import { InputError } from '../../../engine/input/input-error.ts';
import type { Task, Turn } from './contestant.ts';
import type { Engine } from './engine.ts';
import { NODE_LLAMA } from './find-llama.ts';

/** A program `llama-bench`, of llama.cpp or ik_llama.cpp, and the name that tables give it. */
export interface LlamaBench {
  readonly name: string;
  readonly path: string;
}

/** One test as `llama-bench -o json` prints it. */
export interface BenchRun {
  /** Seconds of each repetition. */
  readonly seconds: readonly number[];
  /** A description of what was measured: the build and the processor it found. */
  readonly description: string;
}

/** The fields that both programs have, of some fifty. */
const TEST = z.object({
  build_commit: z.string(),
  build_number: z.number(),
  cpu_info: z.string(),
  gpu_info: z.string().optional(),
  n_prompt: z.number(),
  n_gen: z.number(),
  samples_ns: z.array(z.number().positive()).min(1),
});

/**
 * Reads what `llama-bench -o json` (one array) or `-o jsonl` (a line for each test) printed for one test.
 * @throws InputError if it printed something else, naming `where`
 */
export function parseLlamaBench(where: string, printed: string): BenchRun {
  const failed = (found: string): InputError =>
    new InputError(where, `printed ${found} in place of one test of llama-bench as JSON; give the path of llama-bench`);
  let json: unknown;
  try {
    json = JSON.parse(printed);
  } catch {
    throw failed(printed.trim() === '' ? 'nothing' : `"${printed.trim().slice(0, 60)}"`);
  }
  const tests = Array.isArray(json) ? json : [json];
  if (tests.length !== 1) throw failed(`${tests.length} tests`);
  const parsed = TEST.safeParse(tests[0]);
  if (!parsed.success) throw failed(`no valid "${parsed.error.issues[0]?.path.join('.')}"`);
  const { samples_ns, build_commit, build_number, cpu_info, gpu_info = '' } = parsed.data;
  const processors = [cpu_info, gpu_info].map((info) => info.trim()).filter((info) => info !== '');
  return {
    seconds: samples_ns.map((nanoseconds) => nanoseconds / 1e9),
    description: `build ${build_number} (${build_commit}), ${processors.join(', ')}`,
  };
}

/** Reads `NAME=PATH`. @throws InputError unless PATH is a program */
export function readLlamaBench(flag: string, text: string): LlamaBench {
  const [, name = '', path = ''] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (path === '') throw new InputError(flag, `"${text}" is not like ik=path/of/llama-bench, nor node-llama-cpp`);
  try {
    accessSync(path, constants.X_OK);
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new InputError(
      flag,
      `${path} ${missing ? 'doesn’t exist' : 'is not a program'}; give the path of llama-bench`,
    );
  }
  if (!statSync(path).isFile()) throw new InputError(flag, `${path} is not a program; give the path of llama-bench`);
  return { name, path };
}

/**
 * Reads the programs among the named peers; others than node-llama-cpp are `NAME=PATH`.
 * @throws InputError for a name that occurs twice or is Hearth's, or a path that is not a program
 */
export function readLlamaBenches(flag: string, texts: readonly string[]): LlamaBench[] {
  const programs = texts.flatMap((text) => (text === NODE_LLAMA ? [] : [readLlamaBench(flag, text)]));
  const names = ['Hearth', ...texts.filter((text) => text === NODE_LLAMA), ...programs.map(({ name }) => name)];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new InputError(flag, `"${twice}" is the name of two engines; choose another`);
  return programs;
}

/**
 * `llama-bench` as an engine: a process for each turn, which maps the model, warms up and times itself. It samples nothing
 * and decodes from an empty context. A prompt is evaluated twice, of which the second counts, since ik_llama.cpp warms
 * up with a single token.
 * @throws InputError if it doesn't run the model
 */
export async function startLlamaBench({ name, path }: LlamaBench, { model, threads }: Task): Promise<Engine> {
  const run = async (what: readonly string[], repetitions: number): Promise<BenchRun> => {
    const options = ['-m', model, '-t', String(threads), ...what, '-r', String(repetitions), '-o', 'json'];
    try {
      const { stdout } = await promisify(execFile)(path, options, { maxBuffer: 2 ** 24 });
      return parseLlamaBench(path, stdout);
    } catch (error) {
      if (error instanceof InputError) throw error;
      const { stderr = '', message } = error as { stderr?: string; message: string };
      throw new InputError(path, stderr.trim().split('\n').at(-1) || message);
    }
  };
  const { description } = await run(['-p', '1', '-n', '0'], 1);
  return {
    name,
    description: `${name}: ${description}`,
    continues: false,
    prefill: async (tokens) => lastTurn(await run(['-p', String(tokens), '-n', '0'], 2)),
    decode: async (tokens) => lastTurn(await run(['-p', '0', '-n', String(tokens)], 1)),
    close() {},
  };
}

/** The program doesn't say what processor time its threads got. */
function lastTurn({ seconds }: BenchRun): Turn {
  return { seconds: seconds.at(-1) ?? Number.NaN, processorSeconds: Number.NaN };
}
