import { parseArgs } from 'node:util';
import { loadAddon, type NativeAddon } from '../../engine/kernels/native/addon.ts';
import { nativeKernels } from '../../engine/kernels/native/native-kernels.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';

/**
 * Measures decoding: tokens per second compared with the bandwidth at which the same threads read memory, the time of a
 * token outside the native kernels, and the share of each part of the model. Weights are read once beforehand. Best and
 * median of many tokens are shown, since other processes take time on a busy machine.
 */
const { values: options, positionals: models } = parseArgs({
  allowPositionals: true,
  options: {
    threads: { type: 'string', default: '1,2' },
    tokens: { type: 'string', default: '24' },
    prompt: { type: 'string', default: '16' },
    kv: { type: 'string', default: 'F16' },
    help: { type: 'boolean' },
  },
});

const MEMORY = 2 ** 28;

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] as number;

/** Wraps the addon with a clock: `inside()` returns the seconds of its runs since the last call. */
function clocked(addon: NativeAddon) {
  let seconds = 0;
  class Engine extends addon.Engine {
    override run(commands: Float64Array, count: number): void {
      const start = performance.now();
      super.run(commands, count);
      seconds += (performance.now() - start) / 1e3;
    }
  }
  const inside = (): number => {
    const taken = seconds;
    seconds = 0;
    return taken;
  };
  return { addon: { Engine, instructionSets: () => addon.instructionSets() } as NativeAddon, inside };
}

function bench(native: NativeAddon, path: string, threads: number): void {
  const { addon, inside } = clocked(native);
  const set = { instructionSet: 'auto', threads, pin: false };
  const kernels = nativeKernels(addon, set);
  const kvCache = options.kv === 'F32' ? 'F32' : 'F16';
  const [prompt, count] = [Number(options.prompt), Number(options.tokens)];
  const stages = new Map<string, number>();
  let seconds = 0;
  const load = (timed: boolean) =>
    loadTransformer(path, {
      kernels,
      kvCache,
      context: prompt + count,
      ...(timed
        ? {
            onPart({ name, start, end }: { name: string; start: number; end: number }) {
              const kind = name.replace(/ \d+$/, 's');
              stages.set(kind, (stages.get(kind) ?? 0) + end - start);
              seconds += end - start;
            },
          }
        : {}),
    });
  const transformer = load(false);
  const { model } = transformer;
  // A token reads all weights except the embedding, of which it reads one row; a tied embedding is read as the output
  // matrix.
  const bytes = model.bytes - (model.tiedEmbeddings ? 0 : model.embedding.bytes);
  const timed = (run: () => void): number => {
    const start = performance.now();
    run();
    return (performance.now() - start) / 1e3;
  };
  const token = (index: number): number => (7 * index + 1) % model.vocabularySize;
  const tokens = Array.from({ length: prompt }, (_, i) => token(i));
  transformer.evaluate(tokens);
  transformer.rewind(0);
  const prefill = timed(() => transformer.evaluate(tokens));

  const engine = new native.Engine(set.instructionSet, threads, false, false);
  const [memory] = engine.vector(MEMORY / 4);
  const [reads, whole, outside]: [number[], number[], number[]] = [[], [], []];
  for (let i = 0; i < count; i++) {
    reads.push(engine.readBandwidth(memory, 0, MEMORY));
    inside();
    const taken = timed(() => transformer.evaluate([token(i)]));
    whole.push(taken);
    outside.push(taken - inside());
  }
  const staged = load(true);
  for (let i = 0; i < Math.min(count, 8); i++) staged.evaluate([token(i)]);

  const giga = (value: number): string => (value / 1e9).toFixed(1);
  const [best, usual] = [Math.min(...whole), median(whole)];
  console.log(
    [
      `${model.name} ${model.mix}, ${threads} threads, ${kernels.instructionSet}, KV ${kvCache}:`,
      `  decode ${(1 / best).toFixed(2)} tokens/s best, ${(1 / usual).toFixed(2)} median of ${count}`,
      `  weights at ${giga(bytes / best)} GB/s best, ${giga(bytes / usual)} median; memory reads at ${giga(Math.max(...reads))} best, ${giga(median(reads))} median`,
      `  outside the kernels ${(1e6 * median(outside)).toFixed(0)} µs of ${(1e3 * usual).toFixed(1)} ms (median)`,
      `  by stage: ${[...stages].map(([kind, time]) => `${kind} ${((100 * time) / seconds).toFixed(2)} %`).join(', ')}`,
      `  prefill of ${prompt}: ${(prompt / prefill).toFixed(1)} tokens/s`,
    ].join('\n'),
  );
  kernels.close();
  engine.close();
}

const addon = loadAddon();
if (options.help === true || models.length === 0) {
  console.log('usage: decode.ts model.gguf … [--threads 1,2] [--tokens 24] [--prompt 16] [--kv F16|F32]');
} else if (typeof addon === 'string') {
  console.error(`the native kernels are not built: ${addon}; run: npm run build:native`);
  process.exitCode = 1;
} else {
  for (const model of models) for (const threads of options.threads.split(',')) bench(addon, model, Number(threads));
}
