import { withFile } from '../../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../../engine/gguf/read-gguf.ts';
import { threeDigits } from '../../../engine/input/format.ts';
import type { Model } from '../../../engine/model/model.ts';
import { decodeBytes, limitOf, prefillOperations } from './cell.ts';
import { type Child, startChild } from './child.ts';
import { type Discipline, middle } from './contest.ts';
import type { Engine } from './engine.ts';
import { type LlamaBench, startLlamaBench } from './llama-bench.ts';

/** Tokens by which llama.cpp's cache grows. */
const CONTEXT_STEP = 256;

/** A model in one discipline: tokens per second of every turn, by engine. */
export interface GpuCell extends Discipline {
  readonly model: string;
  readonly mix: string;
  readonly rates: Readonly<Record<string, readonly number[]>>;
  /** Hearth's rate over the probe's of the same minutes: bytes of weights in decoding, operations in prefilling. */
  readonly share: number;
  /** The probe's rate: bytes or operations per second. */
  readonly limit: number;
}

export interface GpuContest {
  readonly file: string;
  readonly disciplines: readonly Discipline[];
  readonly repeats: number;
  /** The GPU, by a part of its name. */
  readonly device: string | undefined;
  /** node-llama-cpp's folder; `undefined`: none. */
  readonly folder: string | undefined;
  readonly builds: readonly ('vulkan' | 'cuda')[];
  readonly programs: readonly LlamaBench[];
  /** Called with what each engine is, and with why one is missing. */
  readonly described: (engine: string) => void;
  readonly missing: (reason: string) => void;
  /** Whether there is time for another turn after the first of a discipline. Default: always. */
  readonly hasTime?: () => boolean;
}

/** Runs all engines on a model in turns, each in a process of its own. Yields each discipline's cell as it ends. */
export async function* gpuContest(contest: GpuContest): AsyncGenerator<GpuCell> {
  const { file, disciplines, device, folder, builds, programs } = contest;
  const model = withFile(file, (bytes) => modelFromGguf(readGguf(bytes)));
  const most = Math.max(...disciplines.map(({ tokens }) => tokens)) + 8;
  const task = {
    model: file,
    threads: 1,
    context: Math.ceil(most / CONTEXT_STEP) * CONTEXT_STEP,
    vocabulary: model.vocabularySize,
  };
  const all: Engine[] = [];
  try {
    const hearth = await startChild('hearth-gpu', { ...task, gpu: { build: 'vulkan', device } });
    all.push(hearth);
    for (const build of folder === undefined ? [] : builds) {
      const started = await startChild('llama', { ...task, library: folder ?? '', gpu: { build, device } }).catch(
        ({ message }: Error) => message,
      );
      if (typeof started === 'string') contest.missing(`llama.cpp, ${build}: ${started}`);
      else all.push({ ...started, name: `llama.cpp ${build}` });
    }
    for (const program of programs) all.push(await startLlamaBench(program, task));
    for (const engine of all) {
      contest.described(engine.description);
      if (!engine.continues) continue; // warms up in each turn
      await engine.prefill(Math.max(...disciplines.map(({ kind, tokens }) => (kind === 'prefill' ? tokens : 1))));
      await engine.decode(2);
    }
    for (const discipline of disciplines) yield await inTurns(model, discipline, { hearth, all }, contest);
  } finally {
    for (const engine of all) engine.close();
  }
}

/** Hearth, and what it is compared with. */
interface Engines {
  readonly hearth: Child;
  readonly all: readonly Engine[];
}

/** All engines in turn, another one first each time. */
async function inTurns(
  model: Model,
  discipline: Discipline,
  { hearth, all }: Engines,
  { repeats, hasTime = () => true }: GpuContest,
): Promise<GpuCell> {
  const { kind, tokens } = discipline;
  const rates: Record<string, number[]> = Object.fromEntries(all.map(({ name }) => [name, []]));
  const [shares, limits]: [number[], number[]] = [[], []];
  const perToken = kind === 'decode' ? decodeBytes(model) : prefillOperations(model, tokens);
  for (let repeat = 0; repeat < repeats && (repeat === 0 || hasTime()); repeat++) {
    for (let turn = 0; turn < all.length; turn++) {
      const engine = all[(repeat + turn) % all.length] as Engine;
      if (kind === 'decode' && engine.continues) await engine.prefill(1);
      const { seconds } = kind === 'decode' ? await engine.decode(tokens) : await engine.prefill(tokens);
      rates[engine.name]?.push(tokens / seconds);
    }
    const limit = limitOf(kind, model.mix, await hearth.limits(kind));
    limits.push(limit);
    shares.push(((rates[hearth.name]?.at(-1) ?? Number.NaN) * perToken) / limit);
  }
  return { model: model.name, mix: model.mix, ...discipline, rates, share: middle(shares), limit: middle(limits) };
}

/** A cell in one line: medians of all engines. */
export function cellText({ model, mix, kind, tokens, rates }: GpuCell): string {
  const each = Object.entries(rates).map(([name, turns]) => `${name} ${threeDigits(middle(turns))}`);
  return `${model} ${mix}, ${kind} ${tokens}: ${each.join(', ')} tokens/s`;
}
