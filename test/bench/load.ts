import { resourceUsage } from 'node:process';
import { parseArgs } from 'node:util';
import { withFile } from '../../engine/gguf/file-source.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { readCount } from '../../engine/terminal/options.ts';
import { reportError } from '../../engine/terminal/report-error.ts';
import { loadTokenizer } from '../../engine/text/load-tokenizer.ts';
import { summarise } from './measure.ts';

/** Work before the first token of a model that is in memory: its vocabulary, its mapping, and its first pass. */
const HELP = `npx tsx test/bench/load.ts FILE.gguf [options]

What comes before the first token, of a file that is in memory: header and vocabulary, loading, and passes of one token.
A file with a vocabulary alone is timed as far as that.

  --threads 2
  --help
`;

const VOCABULARIES = 9;
const PASSES = 9;

function main(): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { threads: { type: 'string', default: '2' }, help: { type: 'boolean', default: false } },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const [file] = positionals;
  if (file === undefined || positionals.length > 1)
    throw new InputError('FILE.gguf', `${positionals.length} were given; give one`);
  const threads = readCount('--threads', values.threads, 1, 1024);
  const vocabularies = Array.from({ length: VOCABULARIES + 1 }, () =>
    timed(() => withFile(file, (bytes) => loadTokenizer(readGguf(bytes)))),
  );
  const { size } = (vocabularies[0] as Timed<ReturnType<typeof loadTokenizer>>).result;
  print(`header and vocabulary of ${size.toLocaleString('en')} tokens, first of the process`, vocabularies.slice(0, 1));
  print('the same again', vocabularies.slice(1));
  const { tensors } = withFile(file, readGguf);
  if (tensors.length === 0) return;
  const kernels = openKernels({ implementation: 'native', threads });
  try {
    const loaded = timed(() => loadTransformer(file, { kernels, context: 64 }));
    print('header, mapping, matrices and KV cache', [loaded]);
    const passes = Array.from({ length: PASSES + 1 }, () => timed(() => loaded.result.evaluate([1])));
    print('first pass of one token', passes.slice(0, 1));
    print('later ones', passes.slice(1));
  } finally {
    kernels.close();
  }
}

interface Timed<Result> {
  readonly result: Result;
  readonly seconds: number;
  /** Seconds of the whole process in the kernel. */
  readonly systemSeconds: number;
  readonly faults: number;
}

function timed<Result>(run: () => Result): Timed<Result> {
  const [begin, before] = [performance.now(), resourceUsage()];
  const result = run();
  const [end, after] = [performance.now(), resourceUsage()];
  return {
    result,
    seconds: (end - begin) / 1e3,
    systemSeconds: (after.systemCPUTime - before.systemCPUTime) / 1e6,
    faults: after.minorPageFault - before.minorPageFault,
  };
}

function print(what: string, runs: readonly Timed<unknown>[]): void {
  const milliseconds = (of: (run: Timed<unknown>) => number): string =>
    `${(1e3 * summarise(runs.map(of)).median).toFixed(0)} ms`;
  const faults = summarise(runs.map((run) => run.faults)).median.toFixed(0);
  const [whole, system] = [milliseconds(({ seconds }) => seconds), milliseconds(({ systemSeconds }) => systemSeconds)];
  process.stdout.write(`${what}: ${whole}, of which ${system} in the kernel; ${faults} page faults\n`);
}

try {
  main();
} catch (error) {
  process.exitCode = reportError(error, 'bench: load');
}
