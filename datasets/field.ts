import { fileURLToPath } from 'node:url';
import { type CatalogueModel, parseModels } from '../engine/gguf/parse-models.ts';
import { type CataloguePart, parseDevices } from '../engine/hardware/parse-devices.ts';
import { InputError } from '../engine/input/input-error.ts';
import { type CsvRow, parseCsv } from '../engine/input/parse-csv.ts';
import { FILE_MIXES, type FileMix } from '../engine/model/mix.ts';
import { loadCatalogue, loadDevices } from './load.ts';
import { readText } from './read-text.ts';

/** `A`: a stated protocol or a vendor's table; `B`: an entry of a community that a schema checked. */
export const TIERS = ['A', 'B'] as const;

/** A run of somebody's without its result: all that a prediction may see. Texts are as published. */
export interface FieldSetting {
  /** Number of its row in the file; the first below the header is 2. */
  readonly row: number;
  readonly tier: (typeof TIERS)[number];
  readonly source: string;
  readonly date: string;
  readonly devices: string;
  /** Memory, bandwidth and processor, where stated. */
  readonly memory: string;
  readonly model: string;
  readonly quantization: string;
  readonly backend: string;
  readonly test: string;
  readonly note: string;
}

/** A measurement that somebody published. */
export interface FieldMeasurement extends FieldSetting {
  readonly tokensPerSecond: number;
}

const COLUMNS = [
  'tier',
  'source',
  'date',
  'devices',
  'memory_bandwidth',
  'model',
  'quantization',
  'backend',
  'test',
  'tokens_per_second',
  'note',
] as const;
type Column = (typeof COLUMNS)[number];

/** Tokens per second that no machine for one user exceeds. */
const MOST_RATE = 1e6;

/**
 * Parses measurements by others (CSV; docs/how-to/add-a-measurement.md).
 * @param file name of the file, for messages
 * @throws InputError with file, row and column
 */
export function parseFieldMeasurements(text: string, file: string): FieldMeasurement[] {
  const measurements = parseCsv(text, file, COLUMNS).map(parseMeasurement);
  const seen = new Map<string, number>();
  for (const { row, tokensPerSecond, ...setting } of measurements) {
    const key = JSON.stringify([tokensPerSecond, setting]);
    const before = seen.get(key);
    if (before !== undefined)
      throw new InputError(`${file}: row ${row}`, `repeats row ${before}; leave one of them out`);
    seen.set(key, row);
  }
  return measurements;
}

function parseMeasurement(row: CsvRow<Column>, index: number): FieldMeasurement {
  const { cell, where } = row;
  for (const column of ['source', 'devices', 'model', 'backend', 'test'] as const)
    if (cell(column) === '') throw new InputError(where(column), 'is empty; give it as the source states it');
  if (!/^\d{4}(-\d\d){0,2}( \(.+\))?$/.test(cell('date')))
    throw new InputError(where('date'), `"${cell('date')}" is not a date such as 2026-07-30, 2026-07 or 2026`);
  const tokensPerSecond = Number(cell('tokens_per_second'));
  if (cell('tokens_per_second') === '' || !(tokensPerSecond > 0 && tokensPerSecond <= MOST_RATE))
    throw new InputError(
      where('tokens_per_second'),
      `"${cell('tokens_per_second')}" is not a number above 0 and up to ${MOST_RATE}`,
    );
  return {
    row: index + 2,
    tier: row.oneOf('tier', TIERS),
    source: cell('source'),
    date: cell('date'),
    devices: cell('devices'),
    memory: cell('memory_bandwidth'),
    model: cell('model'),
    quantization: cell('quantization'),
    backend: cell('backend'),
    test: cell('test'),
    tokensPerSecond,
    note: cell('note'),
  };
}

/** The kind of processor that computes. `integrated`: a GPU that shares the RAM, other than Apple's. */
export const FIELD_PROCESSORS = ['metal', 'discrete', 'integrated', 'cpu', 'npu'] as const;
export type FieldProcessor = (typeof FIELD_PROCESSORS)[number];

/** The machine that a text names, or why it isn't predicted. */
export interface FieldMachine {
  /** Its name: one name for one machine, whatever sources call it. Draws are by this name. */
  readonly machine: string;
  /** As `hearth plan --device` takes it, from datasets/devices.csv and datasets/field/devices.csv. */
  readonly preset: string;
  readonly processor: FieldProcessor;
  /** Machines of this kind, and the network of the catalogue that joins them; '' for one machine. */
  readonly count: number;
  readonly link: string;
  readonly note: string;
}

/** The program that a text names. `plan`: `whole`, `layers N` (the rest on the CPU), `tensor-parallel`. */
export interface FieldProgram {
  readonly program: string;
  readonly plan: string;
}

/** The format that a text names. `bits`: the group of formats by whole bits a weight. */
export interface FieldFormat {
  /** `default`: the mix in which the model is usually run. */
  readonly mix: FileMix | 'default' | 'W4A16';
  readonly bits: number;
  readonly note: string;
}

/** A model of the catalogue that a text names. */
export interface FieldName {
  readonly model: string;
  readonly note: string;
}

/** The meaning of a text, or the reason why a measurement with it isn't predicted. */
export type Meaning<Known> = Known | { readonly reason: string };

/** How texts of the measurements are read. */
export interface FieldMeanings {
  machine(devices: string, backend: string): Meaning<FieldMachine>;
  program(backend: string): Meaning<FieldProgram>;
  format(quantization: string): Meaning<FieldFormat>;
  name(model: string): Meaning<FieldName>;
}

const folder = (name: string): string => fileURLToPath(new URL(`field/${name}`, import.meta.url));
const text = (name: string): string => readText(folder(name), 'it belongs to this project; restore it');

/** The measurements on file. @throws InputError */
export function loadFieldMeasurements(): FieldMeasurement[] {
  return parseFieldMeasurements(text('measurements.csv'), 'datasets/field/measurements.csv');
}

/** Devices of the catalogue, and those that only measurements by others have. @throws InputError */
export function loadFieldDevices(): CataloguePart[] {
  return [...loadDevices(), ...parseDevices(text('devices.csv'), 'datasets/field/devices.csv')];
}

/** Models of the catalogue, and those that only measurements by others have. @throws InputError */
export function loadFieldModels(): CatalogueModel[] {
  return [...loadCatalogue(), ...parseModels(text('models.csv'), 'datasets/field/models.csv')];
}

/** How texts of the measurements are read: machines.csv, programs.csv, formats.csv and names.csv. @throws InputError */
export function loadFieldMeanings(): FieldMeanings {
  const machines = table('machines.csv', MACHINE_COLUMNS, ({ cell, oneOf, where }) => ({
    key: machineKey(cell('devices'), cell('backend')),
    reason: cell('reason'),
    known: () => ({
      machine: cell('machine'),
      preset: cell('preset'),
      processor: oneOf('processor', FIELD_PROCESSORS),
      count: whole(cell('count'), where('count')),
      link: cell('link'),
      note: cell('note'),
    }),
  }));
  const programs = table('programs.csv', ['backend', 'program', 'plan', 'reason'], ({ cell }) => ({
    key: cell('backend'),
    reason: cell('reason'),
    known: () => ({ program: cell('program'), plan: cell('plan') }),
  }));
  const formats = table('formats.csv', ['quantization', 'mix', 'bits', 'note', 'reason'], ({ cell, oneOf, where }) => ({
    key: cell('quantization'),
    reason: cell('reason'),
    known: () => ({
      mix: oneOf('mix', [...FILE_MIXES, 'default', 'W4A16'] as const),
      bits: whole(cell('bits'), where('bits')),
      note: cell('note'),
    }),
  }));
  const names = table('names.csv', ['name', 'model', 'note'], ({ cell }) => ({
    key: cell('name'),
    reason: cell('model') === '' ? cell('note') : '',
    known: () => ({ model: cell('model'), note: cell('note') }),
  }));
  return {
    machine: (devices, backend) =>
      machines.get(machineKey(devices, backend)) ??
      machines.get(machineKey(devices, '')) ?? { reason: 'its machine is not described in machines.csv' },
    program: (backend) => programs.get(backend) ?? { reason: 'its program is not described in programs.csv' },
    format: (quantization) => formats.get(quantization) ?? { reason: 'its format is not described in formats.csv' },
    name: (model) => names.get(model) ?? { reason: 'its model is not described in names.csv' },
  };
}

const MACHINE_COLUMNS = [
  'devices',
  'backend',
  'machine',
  'preset',
  'processor',
  'count',
  'link',
  'note',
  'reason',
] as const;

const machineKey = (devices: string, backend: string): string => `${devices}\n${backend}`;

/** Rows of a file by their keys: what a text stands for, or the reason why not. */
function table<Name extends string, Known>(
  name: string,
  columns: readonly Name[],
  read: (row: CsvRow<Name>) => { readonly key: string; readonly reason: string; known(): Known },
): ReadonlyMap<string, Meaning<Known>> {
  const meanings = new Map<string, Meaning<Known>>();
  for (const [index, row] of parseCsv<Name>(text(name), `datasets/field/${name}`, columns).entries()) {
    const { key, reason, known } = read(row);
    if (meanings.has(key))
      throw new InputError(`datasets/field/${name}: row ${index + 2}`, 'describes a text again; leave one row');
    meanings.set(key, reason === '' ? known() : { reason });
  }
  return meanings;
}

function whole(digits: string, where: string): number {
  if (!/^[1-9]\d*$/.test(digits)) throw new InputError(where, `"${digits}" is not a whole number from 1`);
  return Number(digits);
}

/** A prediction that was fixed before a value was read. Tokens per second. */
export interface FirstPrediction {
  readonly tokensPerSecond: number;
  /** The commit that fixed it: 1 for rows up to 745, 2 up to 2683, and so on (register.csv). */
  readonly round: number;
  /** The prediction with the efficiencies of the time; `undefined` in rounds that fitted one factor after the comparison. */
  readonly withEfficiency: number | undefined;
}

/** First predictions by the row of measurements.csv. @throws InputError */
export function loadFirstPredictions(): ReadonlyMap<number, FirstPrediction> {
  const file = 'datasets/field/predictions.csv';
  const columns = ['row', 'round', 'tokens_per_second', 'with_efficiency'] as const;
  return new Map(
    parseCsv(text('predictions.csv'), file, columns).map(({ cell, where }) => {
      const rate = (column: 'tokens_per_second' | 'with_efficiency'): number => {
        const value = Number(cell(column));
        if (!(value > 0)) throw new InputError(where(column), `"${cell(column)}" is not a rate`);
        return value;
      };
      const prediction = {
        tokensPerSecond: rate('tokens_per_second'),
        round: whole(cell('round'), where('round')),
        withEfficiency: cell('with_efficiency') === '' ? undefined : rate('with_efficiency'),
      };
      return [whole(cell('row'), where('row')), prediction];
    }),
  );
}

/** How far predictions from specifications alone are off where one kind of processor computes. */
export interface FieldAccuracy {
  /** Kinds of processors; on one machine, or on several that cut tensors. */
  readonly processor: FieldProcessor;
  readonly several: boolean;
  readonly phase: 'decode' | 'prefill';
  readonly cells: number;
  readonly machines: number;
  /** |predicted / measured| as factors above 1: the median, and what 90 % are within. */
  readonly median: number;
  readonly ninetieth: number;
}

export const ACCURACY_COLUMNS = [
  'processor',
  'machines_together',
  'phase',
  'cells',
  'machines',
  'median',
  'ninetieth',
] as const;

/** The table that `npm run field` writes of all judged cells. @throws InputError */
export function loadFieldAccuracy(): FieldAccuracy[] {
  const file = 'datasets/field/accuracy.csv';
  return parseCsv(text('accuracy.csv'), file, ACCURACY_COLUMNS).map(({ cell, oneOf, where }) => ({
    processor: oneOf('processor', FIELD_PROCESSORS),
    several: oneOf('machines_together', ['one', 'several'] as const) === 'several',
    phase: oneOf('phase', ['decode', 'prefill'] as const),
    cells: whole(cell('cells'), where('cells')),
    machines: whole(cell('machines'), where('machines')),
    median: Number(cell('median')),
    ninetieth: Number(cell('ninetieth')),
  }));
}
