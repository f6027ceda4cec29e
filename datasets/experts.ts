import { fileURLToPath } from 'node:url';
import { InputError, suggestion } from '../engine/input/input-error.ts';
import { type CsvRow, parseCsv } from '../engine/input/parse-csv.ts';
import { readText } from './read-text.ts';

const SYSTEMS = ['linux', 'android', 'macos', 'windows'] as const;

/** A machine on which somebody ran a mixture, described from public data. SI units. */
export interface ExpertsMachine {
  readonly key: string;
  readonly name: string;
  readonly system: (typeof SYSTEMS)[number];
  readonly memoryBytes: number;
  /** Bytes that the operating system and other programs keep. */
  readonly keptBytes: number;
  /** Bytes per second of the memory that the experts are in, and of a GPU's own where there is one. */
  readonly bandwidth: number;
  readonly gpuBandwidth: number | undefined;
  /** Bytes per second of the saturated disk, and seconds until a read's bytes begin to come. */
  readonly diskBandwidth: number;
  readonly diskLatency: number;
  /** Seconds of a layer in addition to what its bytes take: dispatch, and the way of the router's choice to the reader. */
  readonly layerSeconds: number;
  /** Bytes of one read of the page cache. */
  readonly readAhead: number;
  readonly source: string;
}

/** A mixture and the statistics of its routing. Bytes. */
export interface ExpertsModel {
  readonly key: string;
  readonly name: string;
  readonly layers: number;
  readonly experts: number;
  readonly used: number;
  readonly expertBytes: number;
  readonly denseBytes: number;
  /** Popularity falls with the rank as rank^−slope. */
  readonly slope: number;
  readonly recurrence: { readonly previous: number; readonly recent: number; readonly window: number };
  readonly source: string;
}

/** How a finding's values are computed. */
export const FINDING_KINDS = [
  ...['speed', 'hits', 'bytes', 'replay', 'cold', 'half-pinned', 'distinct', 'allocation', 'belady', 'synthetic'],
  ...['gpu-cache', 'token-bytes', 'break-even', 'projection'],
] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];

/**
 * The property of a finding's values that is judged. `ends`: the last value against the first; `shape`: whether values
 * rise, fall, stay, or turn between; `floor`: which values are 0; `bound`: whether a value is possible; `level`: one
 * value alone.
 */
export const JUDGED = ['ends', 'shape', 'floor', 'bound', 'level'] as const;
const UNITS = ['tok/s', 'share', 'MiB', 'MB', 'relative'] as const;
const SIGNS = ['', 'rises', 'falls', 'flat', 'hump', 'dip'] as const;

/** A published finding about mixtures whose experts don't fit. */
export interface ExpertsFinding {
  /** Its number in the collection of findings, and a word where there are several series. */
  readonly id: string;
  readonly claim: string;
  /** Missing where only a cache is looked at. */
  readonly machine: ExpertsMachine | undefined;
  readonly model: ExpertsModel;
  readonly kind: FindingKind;
  readonly judged: (typeof JUDGED)[number];
  /** The claimed sign where no values are published; '' otherwise. */
  readonly sign: (typeof SIGNS)[number];
  /** `relative`: in units of the first setting's. */
  readonly unit: (typeof UNITS)[number];
  /** Findings with the same question answer it differently; '' for none. */
  readonly question: string;
  /** The variable that decides it. */
  readonly decides: string;
  /** Why the simulation differs, if that is known. */
  readonly cause: string;
  readonly assumed: string;
  readonly source: string;
  readonly date: string;
  readonly settings: readonly FindingSetting[];
}

/** One setting of a finding, as text; '' for what is usual. */
export interface FindingSetting {
  readonly setting: string;
  readonly published: number | undefined;
  /** The finding's, unless the setting has its own. */
  readonly machine: ExpertsMachine | undefined;
  readonly model: ExpertsModel;
  /** `10 GB`, `287` slots for all layers, `24 a layer`, `0.9 tokens` of one token's experts, or `none`. */
  readonly cache: string;
  readonly method: string;
  readonly eviction: string;
  readonly depth: string;
  /** `next-router 6` or `previous-token`. */
  readonly lookahead: string;
  /** Share of guesses that are right, the same for all ranks. */
  readonly precision: string;
  readonly used: string;
  readonly hitsFirst: boolean;
  readonly dense: 'anonymous' | 'mapped';
  /** Layers whose experts the CPU's memory holds while a GPU computes the rest; all unless given. */
  readonly hostLayers: number | undefined;
  /** File, row and column, for messages. */
  readonly where: (column: (typeof SETTING_COLUMNS)[number]) => string;
}

/** Why a finding is not judged. */
export interface UntriedFinding {
  readonly finding: string;
  readonly why: string;
}

export interface ExpertsFindings {
  readonly machines: ReadonlyMap<string, ExpertsMachine>;
  readonly models: ReadonlyMap<string, ExpertsModel>;
  readonly findings: readonly ExpertsFinding[];
  readonly untried: readonly UntriedFinding[];
}

const MACHINE_COLUMNS = [
  ...['key', 'name', 'os', 'ram_gb', 'kept_gb', 'bandwidth_gbs', 'gpu_bandwidth_gbs', 'disk_gbs', 'latency_us'],
  ...['layer_us', 'read_ahead_kib', 'source'],
] as const;
const MODEL_COLUMNS = [
  ...['key', 'name', 'layers', 'experts', 'used', 'expert_mb', 'dense_gb', 'slope', 'previous', 'recent', 'window'],
  'source',
] as const;
const FINDING_COLUMNS = [
  ...['id', 'claim', 'machine', 'model', 'kind', 'judged', 'sign', 'unit', 'question', 'decides', 'cause', 'assumed'],
  ...['source', 'date'],
] as const;
const SETTING_COLUMNS = [
  ...['finding', 'setting', 'published', 'machine', 'model', 'cache', 'method', 'eviction', 'depth', 'lookahead'],
  ...['precision', 'used', 'hits_first', 'dense', 'host_layers'],
] as const;

/** Findings, machines and models of datasets/experts. @throws InputError with file, row and column */
export function loadExpertsFindings(): ExpertsFindings {
  const machines = byKey(read('machines', MACHINE_COLUMNS).map(machineOf));
  const models = byKey(read('models', MODEL_COLUMNS).map(modelOf));
  const settings = read('settings', SETTING_COLUMNS);
  const findings = read('findings', FINDING_COLUMNS).map((row): ExpertsFinding => {
    const id = row.cell('id');
    const machine = row.cell('machine') === '' ? undefined : known(row, 'machine', machines);
    const model = known(row, 'model', models);
    const own = settings
      .filter((setting) => setting.cell('finding') === id)
      .map((setting) => ({
        ...settingOf(setting),
        machine: setting.cell('machine') === '' ? machine : known(setting, 'machine', machines),
        model: setting.cell('model') === '' ? model : known(setting, 'model', models),
      }));
    if (own.length === 0) throw new InputError(row.where('id'), `"${id}" has no settings in settings.csv`);
    return {
      ...{ id, claim: row.cell('claim'), machine, model, settings: own },
      kind: row.oneOf('kind', FINDING_KINDS),
      judged: row.oneOf('judged', JUDGED),
      sign: row.oneOf('sign', SIGNS),
      unit: row.oneOf('unit', UNITS),
      ...{ question: row.cell('question'), decides: row.cell('decides'), cause: row.cell('cause') },
      ...{ assumed: row.cell('assumed'), source: row.cell('source'), date: row.cell('date') },
    };
  });
  const untried = read('not-tried', ['finding', 'why'] as const).map((row) => ({
    finding: row.cell('finding'),
    why: row.cell('why'),
  }));
  return { machines, models, findings, untried };
}

function read<Column extends string>(name: string, columns: readonly Column[]): CsvRow<Column>[] {
  const file = `datasets/experts/${name}.csv`;
  const path = fileURLToPath(new URL(`experts/${name}.csv`, import.meta.url));
  return parseCsv(readText(path, 'it belongs to this project; restore it'), file, columns);
}

function byKey<Value extends { readonly key: string }>(values: readonly Value[]): Map<string, Value> {
  return new Map(values.map((value) => [value.key, value]));
}

function known<Column extends string, Value>(
  row: CsvRow<Column>,
  column: Column,
  of: ReadonlyMap<string, Value>,
): Value {
  const found = of.get(row.cell(column));
  if (found !== undefined) return found;
  const name = row.cell(column);
  throw new InputError(row.where(column), `no ${column} is called "${name}"${suggestion(name, [...of.keys()])}`);
}

function numberOf<Column extends string>(row: CsvRow<Column>, column: Column): number {
  const value = Number(row.cell(column));
  if (row.cell(column) !== '' && value >= 0) return value;
  throw new InputError(row.where(column), `"${row.cell(column)}" is not a number of at least 0`);
}

function machineOf(row: CsvRow<(typeof MACHINE_COLUMNS)[number]>): ExpertsMachine {
  return {
    ...{ key: row.cell('key'), name: row.cell('name'), system: row.oneOf('os', SYSTEMS), source: row.cell('source') },
    memoryBytes: 1e9 * numberOf(row, 'ram_gb'),
    keptBytes: 1e9 * numberOf(row, 'kept_gb'),
    bandwidth: 1e9 * numberOf(row, 'bandwidth_gbs'),
    gpuBandwidth: row.cell('gpu_bandwidth_gbs') === '' ? undefined : 1e9 * numberOf(row, 'gpu_bandwidth_gbs'),
    diskBandwidth: 1e9 * numberOf(row, 'disk_gbs'),
    diskLatency: 1e-6 * numberOf(row, 'latency_us'),
    layerSeconds: 1e-6 * numberOf(row, 'layer_us'),
    readAhead: 1024 * numberOf(row, 'read_ahead_kib'),
  };
}

function modelOf(row: CsvRow<(typeof MODEL_COLUMNS)[number]>): ExpertsModel {
  const [previous, recent, window] = [numberOf(row, 'previous'), numberOf(row, 'recent'), numberOf(row, 'window')];
  return {
    ...{ key: row.cell('key'), name: row.cell('name'), source: row.cell('source') },
    ...{ layers: numberOf(row, 'layers'), experts: numberOf(row, 'experts'), used: numberOf(row, 'used') },
    expertBytes: 1e6 * numberOf(row, 'expert_mb'),
    denseBytes: 1e9 * numberOf(row, 'dense_gb'),
    slope: numberOf(row, 'slope'),
    recurrence: { previous, recent, window },
  };
}

function settingOf(row: CsvRow<(typeof SETTING_COLUMNS)[number]>): Omit<FindingSetting, 'machine' | 'model'> {
  return {
    ...{ setting: row.cell('setting'), cache: row.cell('cache'), method: row.cell('method') },
    ...{ eviction: row.cell('eviction'), depth: row.cell('depth'), lookahead: row.cell('lookahead') },
    ...{ precision: row.cell('precision'), used: row.cell('used'), where: row.where },
    published: row.cell('published') === '' ? undefined : numberOf(row, 'published'),
    hostLayers: row.cell('host_layers') === '' ? undefined : numberOf(row, 'host_layers'),
    hitsFirst: row.oneOf('hits_first', ['', 'no']) === '',
    dense: row.oneOf('dense', ['', 'mapped']) === '' ? 'anonymous' : 'mapped',
  };
}
