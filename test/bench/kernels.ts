import { parseArgs } from 'node:util';
import { InputError } from '../../engine/input/input-error.ts';
import { loadAddon, type NativeAddon, type NativeEngine } from '../../engine/kernels/native/addon.ts';
import { nativeKernels } from '../../engine/kernels/native/native-kernels.ts';
import type { Operation } from '../../engine/kernels/operation.ts';
import type { Vector } from '../../engine/kernels/vector.ts';
import { QUANTIZATION_NAMES, type Quantization, quantizedBytes } from '../../engine/model/quantization.ts';
import { readChoice, readChoices, readCount, readList } from '../../engine/terminal/options.ts';
import { reportError } from '../../engine/terminal/report-error.ts';

/**
 * Compares kernels with the machine's limits in the same process: matrix–vector products as a share of the bandwidth of
 * reading memory, matrix products as a share of the arithmetic peak, and the cost of a run besides its arithmetic.
 * Pieces take a few milliseconds, and best and median of many are shown, since other processes take time on a busy
 * machine.
 */
const HELP = `npm run bench:engine:kernels -- [options]

Products of each format as a share of the bandwidth and of the arithmetic peak that the same process finds, and what a
token costs in addition to its arithmetic.

  --types F16,Q4_K,…       formats; all unless given
  --threads 1,2
  --instructions auto      an instruction set: avx2, for example
  --repeat 5               rounds
  --help
`;

const MIB = 2 ** 20;
/** Larger than caches: a piece is read again only after all others. */
const MEMORY = 512 * MIB;
const PIECE = 64 * MIB;
/** Feed-forward matrices of the 1.1B Llama shape. */
const ROWS = 5632;
const COLUMNS = 2048;

interface Rates {
  readonly best: number;
  readonly median: number;
}

function rates(values: number[]): Rates {
  const sorted = [...values].sort((a, b) => a - b);
  return { best: sorted.at(-1) as number, median: sorted[sorted.length >> 1] as number };
}

function perSecond(amount: number, run: () => void): number {
  const begin = performance.now();
  run();
  return amount / ((performance.now() - begin) / 1e3);
}

const giga = ({ best, median }: Rates): string =>
  `${(best / 1e9).toFixed(1).padStart(7)}${(median / 1e9).toFixed(1).padStart(8)}`;
const share = (part: Rates, whole: Rates): string =>
  `${((100 * part.best) / whole.best).toFixed(0).padStart(5)} %${((100 * part.median) / whole.median).toFixed(0).padStart(6)} %`;

function benchMatvec(
  addon: NativeAddon,
  set: string,
  threads: number,
  types: Quantization[],
  repetitions: number,
): void {
  const kernels = nativeKernels(addon, { instructionSet: set, threads, pin: false });
  const engine: NativeEngine = new addon.Engine(set, threads, false, false);
  const [memory, floats] = engine.vector(MEMORY / 4);
  const bytes = new Uint8Array(floats.buffer);
  // 0x2c2c is 0.065 in half precision: nothing subnormal or infinite.
  bytes.fill(0x2c);
  const [x, y] = [kernels.vector(COLUMNS), kernels.vector(ROWS)];
  x.values.forEach((_, i) => {
    x.values[i] = Math.sin(i);
  });
  for (const type of types) {
    const matrixBytes = ROWS * quantizedBytes(COLUMNS, type);
    const count = Math.floor(PIECE / matrixBytes);
    const read: number[] = [];
    const multiplied: number[] = [];
    const pieces = Array.from({ length: MEMORY / PIECE }, (_, piece) =>
      Array.from({ length: count }, (_, i): Operation => {
        const offset = piece * PIECE + i * matrixBytes;
        return {
          kind: 'multiply',
          matrix: kernels.matrix({ source: bytes, offset, type, rows: ROWS, columns: COLUMNS }),
          x,
          y,
        };
      }),
    );
    for (let repetition = 0; repetition < repetitions; repetition++) {
      for (const [piece, operations] of pieces.entries()) {
        read.push(engine.readBandwidth(memory, piece * PIECE, PIECE));
        // Four pieces ahead, so that none of it is left in the cache.
        const other = (piece + 4) % pieces.length;
        multiplied.push(perSecond(count * matrixBytes, () => kernels.run(pieces[other] ?? operations)));
      }
    }
    const [limit, found] = [rates(read), rates(multiplied)];
    console.log(`${type.padEnd(7)}${String(threads).padStart(7)}${giga(found)}${giga(limit)}${share(found, limit)}`);
  }
  kernels.close();
  engine.close();
}

function benchMatmul(
  addon: NativeAddon,
  set: string,
  threads: number,
  types: Quantization[],
  repetitions: number,
): void {
  const kernels = nativeKernels(addon, { instructionSet: set, threads, pin: false });
  const engine = new addon.Engine(set, threads, false, false);
  for (const type of types) {
    const source = new Uint8Array(COLUMNS * quantizedBytes(COLUMNS, type)).fill(0x2c);
    const matrix = kernels.matrix({ source, type, rows: COLUMNS, columns: COLUMNS });
    for (const tokens of [32, 512]) {
      const x = kernels.vector(Array.from({ length: tokens * COLUMNS }, (_, i) => Math.sin(i)));
      const y = kernels.vector(tokens * COLUMNS);
      const peaks: number[] = [];
      const found: number[] = [];
      for (let repetition = 0; repetition < 3 * repetitions; repetition++) {
        peaks.push(engine.peaks()[type.startsWith('F') || type === 'BF16' ? 0 : 1]);
        found.push(perSecond(2 * tokens * COLUMNS * COLUMNS, () => kernels.run([{ kind: 'multiply', matrix, x, y }])));
      }
      const [limit, rate] = [rates(peaks), rates(found)];
      console.log(
        `${type.padEnd(7)}${String(threads).padStart(7)}${String(tokens).padStart(8)}${giga(rate)}${giga(limit)}${share(rate, limit)}`,
      );
    }
  }
  kernels.close();
  engine.close();
}

/**
 * Times the operations of a token of the 1.1B shape (22 layers) with so little arithmetic that only their constant cost
 * is left.
 */
function benchCalls(addon: NativeAddon, set: string, threads: number): void {
  const kernels = nativeKernels(addon, { instructionSet: set, threads, pin: false });
  const matrix = kernels.matrix({ source: new Uint8Array(16 * 16 * 4), type: 'F32', rows: 16, columns: 16 });
  const [a, b, c, d] = Array.from({ length: 4 }, () => kernels.vector(16)) as [Vector, Vector, Vector, Vector];
  const layer: Operation[] = [
    { kind: 'rms-norm', x: a, weight: d, y: b, epsilon: 1e-5 },
    { kind: 'multiply', matrix, x: b, y: c },
    { kind: 'multiply', matrix, x: b, y: a },
    { kind: 'multiply', matrix, x: b, y: d },
    { kind: 'softmax', x: c, y: c, width: 16 },
    { kind: 'softmax', x: a, y: a, width: 16 },
    { kind: 'add', x: c, y: b },
    { kind: 'softmax', x: a, y: d, width: 16 },
    { kind: 'multiply', matrix, x: d, y: a, accumulate: true },
    { kind: 'rms-norm', x: a, weight: d, y: b, epsilon: 1e-5 },
    { kind: 'multiply', matrix, x: b, y: c },
    { kind: 'multiply', matrix, x: b, y: d },
    { kind: 'gate', activation: 'silu', gate: c, up: d, y: c },
    { kind: 'multiply', matrix, x: c, y: a, accumulate: true },
  ];
  const token = Array.from({ length: 22 }, () => layer).flat();
  const time = (run: () => void): Rates => {
    const seconds = Array.from({ length: 300 }, () => 1 / perSecond(1, run));
    const { best, median } = rates(seconds.map((second) => -second));
    return { best: -best, median: -median };
  };
  const micro = ({ best, median }: Rates): string =>
    `${(best * 1e6).toFixed(0)} µs best, ${(median * 1e6).toFixed(0)} µs median`;
  const apart = time(() => {
    for (const operation of token) kernels.run([operation]);
  });
  console.log(
    `${token.length} operations, ${threads} threads: in one run ${micro(time(() => kernels.run(token)))}; each by itself ${micro(apart)}`,
  );
  kernels.close();
}

function main(): void {
  const { values } = parseArgs({
    options: {
      types: { type: 'string', default: QUANTIZATION_NAMES.join(',') },
      threads: { type: 'string', default: '1,2' },
      instructions: { type: 'string', default: 'auto' },
      repeat: { type: 'string', default: '5' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const addon = loadAddon();
  if (typeof addon === 'string')
    throw new InputError('native kernels', `not available (${addon}); install g++ and run: npm run build:native`);
  const types = readChoices('--types', values.types, QUANTIZATION_NAMES);
  const threadCounts = readList('--threads', values.threads).map((text) => readCount('--threads', text, 1, 1024));
  const set = readChoice('--instructions', values.instructions, ['auto', ...addon.instructionSets()]);
  const repetitions = readCount('--repeat', values.repeat, 1, 1000);
  console.log(`instruction sets here: ${addon.instructionSets().join(', ')}; used: ${set}`);
  console.log(
    `\nmatrix–vector, GB/s of weights, against reading memory\n        threads   best  median   read  median     share`,
  );
  for (const threads of threadCounts) benchMatvec(addon, set, threads, types, repetitions);
  console.log(
    `\nmatrix–matrix ${COLUMNS} × ${COLUMNS}, GFLOP/s, against the arithmetic peak\n        threads  tokens  best  median   peak  median     share`,
  );
  for (const threads of threadCounts) benchMatmul(addon, set, threads, types, repetitions);
  console.log('\nwhat a token costs in addition to its arithmetic');
  for (const threads of threadCounts) benchCalls(addon, set, threads);
}

try {
  main();
} catch (error) {
  process.exitCode = reportError(error, 'bench:engine:kernels');
}
