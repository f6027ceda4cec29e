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

async function load({ model, threads, context, gpu, library = '' }: Task): Promise<Contestant> {
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
  const made = await loaded.createContext({ contextSize: context, batchSize: BATCH_TOKENS, threads: threadCounts });
  const sequence = made.getSequence();
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
