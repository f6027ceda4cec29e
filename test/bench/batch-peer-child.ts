import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The parent process's input. */
export interface PeerTask {
  readonly library: string;
  readonly model: string;
  readonly threads: number;
  /** Tokens that a sequence can have, and most sequences at once. */
  readonly context: number;
  readonly sequences: number;
}

/** Prompts that are continued together, each by so many tokens after its first. */
export interface PeerTurn {
  readonly prompts: readonly (readonly number[])[];
  readonly tokens: number;
}

/** The part of node-llama-cpp that is used; the package is found at run time and isn't a dependency. */
interface LlamaLibrary {
  getLlama(options: { gpu: false; build: 'never'; maxThreads: number; logLevel: 'disabled' }): Promise<{
    readonly llamaCppRelease: { readonly release: string };
    loadModel(options: { modelPath: string; gpuLayers: 0 }): Promise<{
      createContext(options: {
        sequences: number;
        contextSize: number;
        batchSize: number;
        threads: { ideal: number; min: number };
      }): Promise<{ getSequence(): Sequence }>;
    }>;
  }>;
}

interface Sequence {
  clearHistory(): Promise<void>;
  evaluate(tokens: readonly number[], options: { temperature: 0; yieldEogToken: true }): AsyncGenerator<number>;
}

const BATCH_TOKENS = 512;

/** Runs in a child of the batch bench: llama.cpp continues several texts at once, a turn at a time. */
const { library, model, threads, context, sequences } = JSON.parse(process.argv[2] ?? '{}') as PeerTask;
const { getLlama } = (await import(pathToFileURL(join(library, 'dist/index.js')).href)) as LlamaLibrary;
const llama = await getLlama({ gpu: false, build: 'never', maxThreads: threads, logLevel: 'disabled' });
const loaded = await llama.loadModel({ modelPath: model, gpuLayers: 0 });
const size = { sequences, contextSize: context, batchSize: BATCH_TOKENS };
const made = await loaded.createContext({ ...size, threads: { ideal: threads, min: threads } });
const opened = Array.from({ length: sequences }, () => made.getSequence());

/** Seconds from a text's first generated token to its last. */
async function secondsOf(sequence: Sequence, prompt: readonly number[], tokens: number): Promise<number> {
  await sequence.clearHistory();
  const generated = sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true });
  await generated.next();
  const start = performance.now();
  for (let token = 0; token < tokens; token++) await generated.next();
  const seconds = (performance.now() - start) / 1000;
  await generated.return(undefined);
  return seconds;
}

process.on('message', async ({ prompts, tokens }: PeerTurn) => {
  const seconds = await Promise.all(
    prompts.map((prompt, index) => secondsOf(opened[index] as Sequence, prompt, tokens)),
  );
  process.send?.(Math.min(...seconds));
});
process.on('disconnect', () => process.exit());
process.send?.(`llama.cpp ${llama.llamaCppRelease.release}`);
