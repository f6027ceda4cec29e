import { type ExpertsMachine, type FindingSetting, loadExpertsFindings } from '../../datasets/experts.ts';
import { type FieldSetting, loadFieldMeasurements } from '../../datasets/field.ts';
import { caseOf } from '../contradictions/case.ts';
import { createRoutings } from '../contradictions/routings.ts';
import { createSimulations } from '../contradictions/simulations.ts';
import type { JudgedCell } from './efficiency.ts';
import { createFieldPredictor, splitRate } from './predict-cell.ts';

/** An effect that others measured, as a factor of tokens per second, next to the same by today’s planner or simulator. */
export interface FieldEffect {
  readonly effect: string;
  readonly measured: number;
  readonly predicted: number;
  readonly note: string;
  /** Present where the effect is that the factor is about 1. */
  readonly isNone?: true;
}

/** Factors up to which an effect counts as none. */
const NONE = 1.1;

/** Whether both are a gain, or both a loss; or both about 1. */
export function isReproduced({ measured, predicted, isNone }: FieldEffect): boolean {
  if (isNone) return [measured, predicted].every((factor) => Math.max(factor, 1 / factor) <= NONE);
  return measured > 1 === predicted > 1;
}

/** Rows of measurements.csv. */
const LAYERS_ON_GPU = [193, 194, 195, 196, 197, 198, 199] as const;
const PI_4B = { two: 38, four: 39, eight: 40 } as const;
const M3_ULTRA_RPC = [2, 4, 6] as const;
const M3_ULTRA_TENSORS = [3, 5, 7] as const;
const XDNA2 = {
  'at 1024 tokens': { npu: 370, gpu: 380, cpu: 388 },
  'at 32,768 tokens': { npu: 375, gpu: 385, cpu: 393 },
} as const;
const M1_EXPERTS = { 8: 144, 16: 147 } as const;

/** The effects that measurements by others show, each once. All were seen. */
export function fieldEffects(cells: readonly JudgedCell[]): readonly FieldEffect[] {
  const byRow = new Map(cells.map((cell) => [cell.measurement.row, cell]));
  const cellOf = (row: number): JudgedCell => {
    const cell = byRow.get(row);
    if (cell === undefined) throw new Error(`row ${row} of measurements.csv is not predicted`);
    return cell;
  };
  const ratio = (effect: string, row: number, to: number, note = ''): FieldEffect => ({
    effect,
    measured: cellOf(row).measurement.tokensPerSecond / cellOf(to).measurement.tokensPerSecond,
    predicted: cellOf(row).today / cellOf(to).today,
    note,
  });
  return [
    ratio('All 48 layers on the GPU, against none', LAYERS_ON_GPU[6], LAYERS_ON_GPU[0]),
    bendOf(LAYERS_ON_GPU.map(cellOf)),
    ...severalMacs(),
    ratio('4 Raspberry Pi 4B, against 2', PI_4B.four, PI_4B.two),
    ratio(
      '8 Raspberry Pi 4B, against 4',
      PI_4B.eight,
      PI_4B.four,
      'messages of seven nodes meet at one port of a switch',
    ),
    slowServer(),
    ...Object.entries(XDNA2).flatMap(([length, { npu, gpu, cpu }]) => [
      ratio(`NPU against GPU of a Ryzen AI, ${length}`, npu, gpu, 'by specification: they share one memory'),
      ratio(`NPU against CPU of a Ryzen AI, ${length}`, npu, cpu, 'by specification: they share one memory'),
    ]),
    memoryBesideSlots(),
  ];
}

/** How far the time per token is off the straight line through the ends of a sweep over layers, at most. */
function bendOf(cells: readonly JudgedCell[]): FieldEffect {
  const bend = (rateOf: (cell: JudgedCell) => number): number => {
    const seconds = cells.map((cell) => 1 / rateOf(cell));
    const [first = 0, last = 0] = [seconds[0], seconds.at(-1)];
    const off = seconds.map((own, index) => own / (first + ((last - first) * index) / (seconds.length - 1)));
    return off.reduce((most, one) => (Math.abs(Math.log(one)) > Math.abs(Math.log(most)) ? one : most), 1);
  };
  return {
    effect: 'Time per token of the sweep, against the line through its ends',
    measured: bend(({ measurement }) => measurement.tokensPerSecond),
    predicted: bend(({ today }) => today),
    note: 'a line counts as straight within 10 %',
    isNone: true,
  };
}

/** Layers and tensors of Qwen3-235B over two and four Macs, against one. */
function severalMacs(): readonly FieldEffect[] {
  const predict = createFieldPredictor();
  const settings = new Map(loadFieldMeasurements().map((one) => [one.row, one]));
  const rateOf = (row: number, quantization: string): { readonly measured: number; readonly predicted: number } => {
    const { tokensPerSecond, ...setting } = settings.get(row) as FieldSetting & { readonly tokensPerSecond: number };
    const prediction = predict({ ...setting, quantization });
    if ('reason' in prediction) throw new Error(`row ${row} of measurements.csv: ${prediction.reason}`);
    return { measured: tokensPerSecond, predicted: prediction.tokensPerSecond };
  };
  const series = (what: string, rows: readonly number[], quantization: string, note: string): FieldEffect[] => {
    const [one, ...others] = rows.map((row) => rateOf(row, quantization));
    return others.map((own, index) => ({
      effect: `${what} over ${2 ** (index + 1)} Mac Studios, against one`,
      measured: own.measured / (one?.measured ?? Number.NaN),
      predicted: own.predicted / (one?.predicted ?? Number.NaN),
      note,
    }));
  };
  return [
    ...series('Layers by RPC', M3_ULTRA_RPC, 'Q4_K_M', 'format assumed; the network of TCP over Thunderbolt too'),
    ...series('Tensors by RDMA', M3_ULTRA_TENSORS, 'q8_0', '8 bits, as exo’s README says; latency by its README'),
  ];
}

/** llama.cpp, issue 10047: a GTX 1070 by RPC makes a laptop with an RTX 4070 five times slower. */
function slowServer(): FieldEffect {
  const laptop = 'Laptop Core i9-13900H 32 GB + RTX 4070 Laptop 8 GB';
  const named = { model: 'Qwen2.5-7B:Q5_K_S', context: 25 };
  const rate = (...presets: readonly string[]): number => splitRate(presets, 'Ethernet 1 Gbit/s', named);
  return {
    effect: 'A GTX 1070 by RPC next to an RTX 4070 Laptop, against that alone',
    measured: 1 / 5,
    predicted: rate(laptop, 'Desktop Core i7-13700K 64 GB + GTX 1070 8 GB') / rate(laptop),
    note: 'llama.cpp, issue 10047; what slows this server down is not said there',
  };
}

/** Seed of the routings that are drawn. */
const SEED = 1;
/** A third of 8 GB is kept, as of the M2 with 8 GB. */
const KEPT_OF_8_GB = 2.9e9;

/** Experts in 16 slots a layer, and the file’s pages in the rest of the memory: M1 with 16 GB against 8. */
function memoryBesideSlots(): FieldEffect {
  const { machines, models } = loadExpertsFindings();
  const [machine, model] = [machines.get('m1-16'), models.get('gemma-4-tf')];
  if (machine === undefined || model === undefined) throw new Error('datasets/experts lacks m1-16 or gemma-4-tf');
  const setting: FindingSetting = {
    ...{ setting: '', published: undefined, machine: undefined, model, cache: '16 a layer', method: 'pread' },
    ...{ eviction: 'lfu', depth: '', lookahead: '', precision: '', used: '', hitsFirst: false, dense: 'mapped' },
    ...{ hostLayers: undefined, where: (column: string) => column },
  };
  const simulate = createSimulations(createRoutings(SEED));
  const secondsOf = (own: ExpertsMachine): number => simulate(caseOf(own, setting), model).tokenSeconds;
  const rates = new Map(loadFieldMeasurements().map((one) => [one.row, one.tokensPerSecond]));
  return {
    effect: 'Experts in slots on an M1 with 16 GB, against 8 GB',
    measured: (rates.get(M1_EXPERTS[16]) ?? Number.NaN) / (rates.get(M1_EXPERTS[8]) ?? Number.NaN),
    predicted: secondsOf({ ...machine, memoryBytes: 8.6e9, keptBytes: KEPT_OF_8_GB }) / secondsOf(machine),
    note: 'simulated, with routing by published statistics; the disk of the 8 GB model is taken as equal',
  };
}
