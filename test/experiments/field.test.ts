import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  loadFieldDevices,
  loadFieldMeasurements,
  loadFieldModels,
  parseFieldMeasurements,
} from '../../datasets/field.ts';
import { createNamedModel } from '../../datasets/load.ts';
import { readPreset } from '../../engine/hardware/preset-cluster.ts';
import { fnv1a, isDrawn } from '../../experiments/field/draw.ts';
import { isReproduced } from '../../experiments/field/effects.ts';
import {
  fitEfficiencies,
  type JudgedCell,
  judgeCells,
  type PredictedCell,
} from '../../experiments/field/efficiency.ts';
import { generationOf, sizeOf, sourceOf } from '../../experiments/field/groups.ts';
import { fitShares, partsOf, rateOfParts } from '../../experiments/field/parts.ts';
import { createFieldPredictor } from '../../experiments/field/predict-cell.ts';
import { errorStatistics } from '../../experiments/field/statistics.ts';
import { type FieldTest, readFieldTest } from '../../experiments/field/test-of-cell.ts';
import { testReport } from '../support/open-report.ts';
import { runHere, runScript } from '../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-field-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));
const { code, stdout } = await runScript('experiments/field.ts', '--out', directory, '--json');

interface Effect {
  readonly effect: string;
  readonly measured: number;
  readonly predicted: number;
  readonly right: boolean;
}

interface Row {
  readonly row: number;
  readonly machine: string;
  readonly test: string;
  readonly measured_tokens_per_s: number;
  readonly specification_tokens_per_s: number;
}

test('the document says what the program prints, and its tables are the program’s', () => {
  assert.is(code, 0);
  const { findings, rows } = JSON.parse(stdout) as { findings: string[]; rows: Row[] };
  const text = readFileSync('docs/measurements/field.md', 'utf8');
  for (const sentence of findings) assert.ok(text.includes(sentence), sentence);
  const digits = (value: number) => value.toPrecision(3);
  const lines = text.split('\n').filter((line) => /^\| \d+ +\|/.test(line));
  assert.ok(lines.length >= 12);
  for (const line of lines) {
    const [row, measured, predicted] = [1, -3, -2].map((place) => line.split('|').at(place)?.trim());
    const cell = rows.find((one) => one.row === Number(row)) as Row;
    assert.equal(
      [measured, predicted],
      [digits(cell.measured_tokens_per_s), digits(cell.specification_tokens_per_s)],
      line,
    );
  }
});

test('the document has every effect and every kind of the third round as the program finds them', () => {
  const { effects, kinds } = JSON.parse(stdout) as {
    effects: Effect[];
    kinds: { name: string; cells: number; plain: { median: number }; fitted: { median: number } }[];
  };
  const text = readFileSync('docs/measurements/field.md', 'utf8').replaceAll(/ +/g, ' ');
  assert.ok(effects.length >= 14 && kinds.length >= 9);
  for (const { effect, measured, predicted, right } of effects)
    assert.ok(
      text.includes(
        `| ${effect} | × ${measured.toFixed(2)} | × ${predicted.toFixed(2)} | ${right ? 'right' : 'wrong'} |`,
      ),
      effect,
    );
  const percent = (log: number): string => `${(100 * Math.expm1(log)).toFixed(0)} %`;
  for (const { name, cells, plain, fitted } of kinds) {
    const row = text.split('\n').find((line) => line.startsWith(`| ${name} | ${cells} |`));
    assert.ok(row?.includes(` ${percent(plain.median)} | `) && row.includes(` ${percent(fitted.median)} | `), name);
  }
});

test('the accuracy that hearth plan says is the program’s', () => {
  const written = readFileSync(join(directory, 'accuracy.csv'), 'utf8');
  assert.is(
    readFileSync('datasets/field/accuracy.csv', 'utf8'),
    written,
    `copy ${join(directory, 'accuracy.csv')} there`,
  );
});

test('every measurement is predicted or has a reason, and first predictions stay on file', () => {
  const { counts, unpredicted } = JSON.parse(stdout) as {
    counts: Record<string, number>;
    unpredicted: { reason: string }[];
  };
  assert.is(counts.measurements, loadFieldMeasurements().length);
  assert.is((counts.predicted ?? 0) + unpredicted.length, counts.measurements);
  assert.ok(unpredicted.every(({ reason }) => reason !== ''));
  assert.is(readFileSync('datasets/field/predictions.csv', 'utf8').trim().split('\n').length - 1, 2741);
});

test('a prediction is by the value of nothing but its setting', () => {
  const measurements = loadFieldMeasurements();
  const m1 = measurements.find(
    ({ devices, quantization, test: name }) =>
      devices.startsWith('Apple M1 Max') && quantization === 'Q4_0' && name === 'tg128',
  );
  if (m1 === undefined) throw new Error('the M1 Max of llama.cpp’s table is missing');
  const prediction = createFieldPredictor()({ ...m1, test: 'tg128' });
  // 0.8 × 400 GB/s, over 3.8 GB of weights, the KV cache of 64 tokens and the time of computing.
  assert.ok('tokensPerSecond' in prediction && prediction.tokensPerSecond > 60 && prediction.tokensPerSecond < 85);
});

test('tests are read by phase and mean context', () => {
  assert.equal(readFieldTest('pp 512'), { phase: 'prefill', prompts: [512] });
  assert.equal(readFieldTest('LocalScore prompt'), {
    phase: 'prefill',
    prompts: [1024, 4096, 2048, 2048, 1024, 1280, 384, 64, 16],
  });
  assert.equal(readFieldTest('LocalScore generation'), { phase: 'decode', context: 1837, stated: true });
  assert.equal(readFieldTest('tg128'), { phase: 'decode', context: 64, stated: true });
  assert.equal(readFieldTest('decode of 516 after 61'), { phase: 'decode', context: 319, stated: true });
  assert.equal(readFieldTest('decode, 64 tokens after 128'), { phase: 'decode', context: 160, stated: true });
  assert.equal(readFieldTest('decode at context 4k'), { phase: 'decode', context: 4096, stated: true });
  assert.equal(readFieldTest('decode'), { phase: 'decode', context: 512, stated: false });
  assert.equal(readFieldTest('tg32 @ d32768'), { phase: 'decode', context: 32784, stated: true });
  assert.equal(readFieldTest('prefill of 128 (TTFT 145.90 ms)'), { phase: 'prefill', prompts: [128] });
  assert.is(readFieldTest('pp2048 @ d32768'), undefined);
});

test('efficiencies are fitted on drawn machines only, each machine once', () => {
  assert.is(fnv1a(''), 0x811c9dc5);
  assert.is(fnv1a('a'), 0xe40c292c);
  const [drawn, second, other] = ['M4', 'M5 Pro', 'M1 Max'] as const;
  assert.equal([isDrawn(drawn), isDrawn(second), isDrawn(other)], [true, true, false]);
  const cell = (machine: string, measured: number): PredictedCell =>
    ({
      measurement: { tokensPerSecond: measured },
      known: { machine, program: 'p', processor: 'metal', format: { bits: 4 }, test: { phase: 'decode' } },
      predicted: 10,
      today: 10,
      round: 1,
    }) as unknown as PredictedCell;
  const cells = [cell(drawn, 5), cell(drawn, 5), cell(drawn, 5), cell(second, 9), cell(other, 7)];
  const fitted = fitEfficiencies(cells, ({ predicted }) => predicted);
  assert.is(fitted.get('p, metal, 4 bit, decode')?.efficiency, 0.7);
  const last = judgeCells(cells, { first: fitted, efficiencies: fitted, shares: new Map() }).at(-1);
  assert.is(last?.use, 'judged');
  assert.ok(Math.abs(last?.errorFitted ?? 1) < 1e-12);
});

test('efficiencies in parts find the shares that cells were made with, but for one that fell back', () => {
  const shares = { phase: 'decode', read: 0.9, attention: 0.2, layerSeconds: 100e-6 } as const;
  const parts = (read: number, attention: number, layers: number) =>
    ({ phase: 'decode', read, attention, layers }) as const;
  const cells = [parts(5e-3, 1e-3, 32), parts(1e-3, 1e-3, 16), parts(20e-3, 1e-4, 32), parts(5e-3, 4e-3, 32)].map(
    (one, index) => ({ machine: `m${index % 2}`, parts: one, measured: rateOfParts(one, shares) }),
  );
  const slow = { machine: 'm2', parts: parts(5e-3, 1e-3, 32), measured: 3 };
  const found = fitShares('decode', [...cells, slow]);
  assert.ok(found.phase === 'decode' && Math.abs(found.read - 0.9) < 1e-9);
  assert.equal([found.attention, Math.round(1e6 * found.layerSeconds)], [0.2, 100]);
  assert.throws(() => rateOfParts(parts(1, 1, 1), { phase: 'prefill', products: 1, attention: 1, layerSeconds: 0 }));
});

test('parts are those of a GPU that holds the model', () => {
  const devices = loadFieldDevices();
  const model = createNamedModel(loadFieldModels(), 'Llama-3-8B:Q4_K_M');
  const of = (text: string, name: string) =>
    partsOf(readFieldTest(name) as FieldTest, readPreset(devices, text, ''), model);
  const desktop = 'Desktop Ryzen 7 7700 32 GB';
  const decode = of(`${desktop} + RTX 3090 24 GB`, 'tg128');
  assert.ok(decode?.phase === 'decode' && Math.round(1e4 * decode.read) === 49 && decode.layers === 32);
  const prefill = of(`${desktop} + RTX 3090 24 GB`, 'pp1024');
  const [prompt] = prefill?.phase === 'prefill' ? prefill.prompts : [];
  // 14 GFLOP a token by tensor cores of 4 × 35.58 TFLOPS; two passes of 512 tokens.
  assert.ok(prompt?.layers === 64 && Math.abs(prompt.products - (1024 * 13.96e9) / 142.3e12) < 1e-3);
  assert.is(of(`${desktop} + RTX 3070 8 GB`, 'tg128')?.phase, 'decode');
  assert.is(of(`${desktop} + GTX 1050 4 GB`, 'tg128'), undefined);
  assert.is(of(desktop, 'tg128'), undefined);
});

test('an effect is reproduced if its sign is right, or if there is none', () => {
  const effect = (measured: number, predicted: number, isNone?: true) =>
    isReproduced({ effect: '', measured, predicted, note: '', ...(isNone && { isNone }) });
  assert.equal(
    [effect(2, 1.1), effect(0.5, 1.1), effect(1.05, 0.95, true), effect(1.05, 1.2, true)],
    [true, false, true, false],
  );
});

test('cells are grouped by source, size of the model and generation of the GPU', () => {
  const cell = (source: string, model: string, processor: string) =>
    ({
      measurement: { source },
      known: { program: 'p', processor, count: 1, model, test: { phase: 'decode' }, preset: 'PC + RTX 3090 24 GB' },
    }) as unknown as JudgedCell;
  const small = cell('https://www.localscore.ai/result/7', 'Llama-3.2-1B', 'discrete');
  assert.equal(
    [sourceOf(small), sizeOf(small), generationOf(loadFieldDevices())(small)],
    ['localscore.ai, decode', 'p, discrete, up to 2B', 'p, ampere, decode, up to 2B'],
  );
  const large = cell('https://github.com/owner/name/issues/1 (page)', 'gpt-oss-20b', 'metal');
  assert.equal(
    [sourceOf(large), sizeOf(large), generationOf(loadFieldDevices())(large)],
    ['owner/name, decode', 'p, metal, above 2B', undefined],
  );
});

test('errors are medians and ranks of logarithms', () => {
  const { median, ninetieth, worst, bias } = errorStatistics([-0.1, 0.2, 0.3, -0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 5]);
  assert.equal([median, ninetieth, worst], [0.55, 0.9, 5]);
  assert.is(bias, 0.55);
});

const HEADER = 'tier,source,date,devices,memory_bandwidth,model,quantization,backend,test,tokens_per_second,note\n';
const ROW = 'A,somewhere,2026-07,Mac,,Llama-2-7B,Q4_0,llama.cpp Metal,tg128,50,\n';

test('a mistake in a measurement is one line that says where', () => {
  const parse = (row: string) => () => parseFieldMeasurements(HEADER + row, 'own.csv');
  assert.is(parse(ROW)()[0]?.tokensPerSecond, 50);
  assert.throws(
    parse(ROW.replace(',50,', ',fast,')),
    /^own\.csv: row 2, column tokens_per_second: "fast" is not a number above 0/,
  );
  assert.throws(parse(ROW.replace('A,', 'C,')), /row 2, column tier: unknown "C"/);
  assert.throws(parse(ROW.replace('2026-07', 'July')), /column date: "July" is not a date such as/);
  assert.throws(parse(ROW.replace('somewhere', '')), /column source: is empty/);
  assert.throws(parse(ROW + ROW), /own\.csv: row 3: repeats row 2/);
});

test('an option that it lacks is one line', async () => {
  const { code: ended, stderr } = await runHere('experiments/field.ts', '--out', directory, '--cluster', 'home');
  assert.is(ended, 2);
  assert.match(stderr.trim(), /--cluster/);
});

testReport(() => join(directory, 'report.html'), 1);

test.run();
