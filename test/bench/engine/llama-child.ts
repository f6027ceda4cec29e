import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Contestant, Task } from './contestant.ts';
import { serve } from './serve.ts';

/** The part of node-llama-cpp that is used; the package is found at run time and isn't a dependency. */
interface LlamaLibrary {
  getLlama(options: {
    gpu: false | 'vulkan' | 'cuda';
    build: 'never';
    maxThreads: number;
    logLevel: 'debug';
    logger: (level: string, message: string) => void;
  }): Promise<Llama>;
}

interface Llama {
  readonly systemInfo: string;
  readonly llamaCppRelease: { readonly release: string };
  getGpuDeviceNames(): Promise<string[]>;
  loadModel(options: { modelPath: string; gpuLayers: 0 | 'max' }): Promise<{
    createContext(options: {
      sequences: number;
      contextSize: number;
      batchSize: number;
      threads: { ideal: number; min: number };
    }): Promise<{ getSequence(): Sequence }>;
  }>;
}

interface Sequence {
  clearHistory(): Promise<void>;
  evaluate(tokens: readonly number[], options: { temperature: 0; yieldEogToken: true }): AsyncGenerator<number>;
}

/** The same as Hearth's BATCH_TOKENS. */
const BATCH_TOKENS = 512;

async function load({ model, threads, context, texts = 1, gpu, library = '' }: Task): Promise<Contestant> {
  const { getLlama } = (await import(pathToFileURL(join(library, 'dist/index.js')).href)) as LlamaLibrary;
  const log: string[] = [];
  const logger = (_level: string, message: string): void => void log.push(message);
  const llama = await getLlama({
    ...{ gpu: gpu?.build ?? false, build: 'never', maxThreads: threads, logLevel: 'debug', logger },
  });
  const names = gpu === undefined ? [] : await llama.getGpuDeviceNames();
  if (gpu !== undefined && names.length === 0) throw new Error(`its ${gpu.build} build finds no GPU`);
  const loaded = await llama.loadModel({ modelPath: model, gpuLayers: gpu === undefined ? 0 : 'max' });
  const { release } = llama.llamaCppRelease;
  const described =
    gpu === undefined ? describe(llama, log.join('\n')) : `llama.cpp ${release}, ${gpu.build}: ${names.join(', ')}`;
  const threadCounts = { ideal: threads, min: threads };
  const open = async (count: number): Promise<Sequence[]> => {
    const size = { sequences: count, contextSize: context, batchSize: BATCH_TOKENS };
    const made = await loaded.createContext({ ...size, threads: threadCounts });
    return Array.from({ length: count }, () => made.getSequence());
  };
  const [sequence] = (await open(1)) as [Sequence];
  const sequences = texts > 1 ? await open(texts) : [sequence];
  let tokens: AsyncGenerator<number> | undefined;
  return {
    description: described,
    async prefill(prompt) {
      await tokens?.return(undefined);
      await sequence.clearHistory();
      tokens = sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true });
      await tokens.next();
    },
    async decode(count) {
      for (let i = 0; i < count; i++) await tokens?.next();
    },
    async begin(prompts, count) {
      await tokens?.return(undefined);
      tokens = undefined;
      const running = prompts.map((prompt, text) => {
        return (sequences[text] as Sequence).evaluate(prompt, { temperature: 0, yieldEogToken: true });
      });
      await Promise.all(sequences.map((each) => each.clearHistory()));
      await Promise.all(running.map((each) => each.next()));
      return async () => {
        const continued = running.map(async (each) => {
          for (let i = 0; i < count; i++) await each.next();
        });
        await Promise.all(continued);
        for (const each of running) await each.return(undefined);
      };
    },
  };
}

/** The library chooses among builds for several processors; the memory map shows which one is loaded. */
function describe(llama: Llama, log: string): string {
  const variant = /libggml-cpu-(\w+)\./.exec(readMaps())?.[1] ?? 'its only build';
  const buffers = [...log.matchAll(/(\w+) model buffer size = +([\d.]+ \w+)/g)].map(
    ([, name, size]) => `${name} ${size}`,
  );
  const amx = /AMX_INT8 = 1/.test(llama.systemInfo) ? 'with' : 'without';
  return `llama.cpp ${llama.llamaCppRelease.release}, ${variant}, ${amx} AMX; weights: ${buffers.join(', ')}`;
}

function readMaps(): string {
  try {
    return readFileSync('/proc/self/maps', 'utf8');
  } catch {
    return '';
  }
}

await serve(load);
