import { InputError, suggestion } from '../input/input-error.ts';
import { type CsvRow, parseCsv } from '../input/parse-csv.ts';
import { MEDIA, type Medium } from './cluster.ts';
import { type OperatingSystem, UPGRADABLE_PARTS, type UpgradablePart } from './device.ts';

/** A number of the catalogue in the unit of its column, and its source. */
export interface Stated {
  readonly value: number;
  /** `specification: …`, `derived: …` with the rule, `assumed: …`. */
  readonly source: string;
}

/** GPUs that share the RAM: Apple's, and those of other chips (`unified`). */
const SHARED_FAMILIES = ['apple', 'unified'] as const;
type SharedFamily = (typeof SHARED_FAMILIES)[number];
/** GPUs with their own memory: NVIDIA's, AMD's (`rdna2` to `rdna4`) and Intel's (`arc`) by their generation. */
const OWN_FAMILIES = ['pascal', 'turing', 'ampere', 'ada', 'blackwell', 'rdna2', 'rdna3', 'rdna4', 'arc'] as const;
export const GPU_FAMILIES = [...SHARED_FAMILIES, ...OWN_FAMILIES] as const;
export type GpuFamily = (typeof GPU_FAMILIES)[number];

/** A GPU that shares the RAM of its machine. */
export interface SharedGpuPart {
  readonly kind: 'shared';
  readonly family: SharedFamily;
  /** TFLOPS in F32. */
  readonly compute: Stated;
  /** GB/s. */
  readonly bandwidth: Stated;
}

/** A GPU with memory of its own, to be added to a machine. */
export interface GpuPart {
  readonly kind: 'gpu';
  readonly name: string;
  readonly family: (typeof OWN_FAMILIES)[number];
  /** GiB. */
  readonly memory: Stated;
  /** TFLOPS in F32, without tensor cores. */
  readonly compute: Stated;
  /** TFLOPS in F16 by matrix units, without sparsity, where they aren’t what its family’s are of `compute`. */
  readonly matrix: Stated | undefined;
  /** GB/s of its memory, and of PCIe in one direction. */
  readonly bandwidth: Stated;
  readonly hostLink: Stated;
}

/** A disk, to be added to a machine. */
export interface DiskPart {
  readonly kind: 'disk';
  readonly name: string;
  /** GB/s, sequential reads. */
  readonly rate: Stated;
}

/** A network, to join devices with. */
export interface LinkPart {
  readonly kind: 'link';
  readonly name: string;
  /** Mbit/s. */
  readonly rate: Stated;
  /** Milliseconds. */
  readonly latency: Stated;
  readonly medium: Medium;
}

/** Systems that machines of the catalogue have. */
const SYSTEMS = ['macos', 'linux', 'android'] as const satisfies readonly OperatingSystem[];
export type CatalogueSystem = (typeof SYSTEMS)[number];

export const MACHINE_KINDS = ['laptop', 'desktop', 'phone'] as const;

/** A machine as it is sold. */
export interface MachinePart {
  readonly kind: (typeof MACHINE_KINDS)[number];
  readonly name: string;
  readonly os: CatalogueSystem;
  /** GiB of RAM. */
  readonly memory: Stated;
  readonly cores: Stated;
  /** GFLOPS in F32, the peak. */
  readonly compute: Stated;
  /** GB/s of the RAM. */
  readonly bandwidth: Stated;
  readonly gpu: GpuPart | SharedGpuPart | undefined;
  /** GB/s, sequential reads. */
  readonly disk: Stated;
  /** The parts that can be exchanged; none where they are soldered, or there is no slot. */
  readonly upgradable: readonly UpgradablePart[];
}

/** A part on file that devices are put together from. */
export type CataloguePart = MachinePart | GpuPart | DiskPart | LinkPart;

const KINDS = [...MACHINE_KINDS, 'gpu', 'disk', 'link'] as const;

/** Columns of numbers, with the least and the most that hardware on sale has. */
const NUMBERS = {
  memory_gib: [1, 4096],
  cpu_cores: [1, 256],
  cpu_gflops: [10, 50_000],
  cpu_gb_per_s: [1, 2000],
  gpu_memory_gib: [1, 512],
  gpu_tflops: [0.1, 1000],
  gpu_matrix_tflops: [0.1, 10_000],
  gpu_gb_per_s: [10, 20_000],
  host_link_gb_per_s: [0.5, 200],
  disk_gb_per_s: [0.05, 30],
  link_mbit_per_s: [1, 1e6],
  link_ms: [0.001, 1000],
} as const satisfies Readonly<Record<string, readonly [least: number, most: number]>>;
type NumberColumn = keyof typeof NUMBERS;
const NUMBER_COLUMNS = Object.keys(NUMBERS) as NumberColumn[];

const COLUMNS = [
  'name',
  'kind',
  'os',
  'upgradable',
  'gpu_family',
  ...NUMBER_COLUMNS,
  'link_medium',
  'sources',
] as const;
type Column = (typeof COLUMNS)[number];

const MACHINE = ['memory_gib', 'cpu_cores', 'cpu_gflops', 'cpu_gb_per_s', 'disk_gb_per_s'] as const;
const SHARED_GPU = ['gpu_tflops', 'gpu_gb_per_s'] as const;
const OWN_GPU = [...SHARED_GPU, 'gpu_memory_gib', 'host_link_gb_per_s'] as const;
/** A column that a file may lack, and that few GPUs fill. */
const MATRIX = 'gpu_matrix_tflops';
const LINK = ['link_mbit_per_s', 'link_ms'] as const;

const SOURCE = /^(published|specification|derived|measured|assumed): \S/;

/**
 * Parses a catalogue of devices and parts (CSV; columns in datasets/README.md).
 * @param file name of the file, for messages
 * @throws InputError with file, row and column for numbers that are missing, superfluous, out of range or without source
 */
export function parseDevices(text: string, file: string): CataloguePart[] {
  const rows = parseCsv(text, file, COLUMNS, [MATRIX]);
  const names = rows.map(({ cell }) => cell('name').toLowerCase());
  const twice = rows.find(({ cell }, index) => names.indexOf(cell('name').toLowerCase()) !== index);
  if (twice !== undefined)
    throw new InputError(twice.where('name'), `"${twice.cell('name')}" occurs twice; rename one`);
  return rows.map(parseRow);
}

function parseRow(row: CsvRow<Column>): CataloguePart {
  const name = row.cell('name');
  if (name === '') throw new InputError(row.where('name'), 'is empty; give it a name');
  const kind = row.oneOf('kind', KINDS);
  const family = row.cell('gpu_family') === '' ? undefined : row.oneOf('gpu_family', GPU_FAMILIES);
  switch (kind) {
    case 'gpu':
      return readGpu(readOwnGpu(row, OWN_GPU), name, row.oneOf('gpu_family', OWN_FAMILIES));
    case 'disk':
      return { kind, name, rate: readNumbers(row, ['disk_gb_per_s']).disk_gb_per_s };
    case 'link': {
      const { link_mbit_per_s: rate, link_ms: latency } = readNumbers(row, LINK);
      return { kind, name, rate, latency, medium: row.oneOf('link_medium', MEDIA) };
    }
    default:
      return readMachine(row, { kind, name }, family);
  }
}

function readMachine(
  row: CsvRow<Column>,
  { kind, name }: Pick<MachinePart, 'kind' | 'name'>,
  family: GpuFamily | undefined,
): MachinePart {
  const os = row.oneOf('os', SYSTEMS);
  const upgradable = readUpgradable(row);
  const machine = (
    numbers: Readonly<Record<(typeof MACHINE)[number], Stated>>,
    gpu: MachinePart['gpu'],
  ): MachinePart => ({
    ...{ kind, name, os, gpu, upgradable },
    memory: numbers.memory_gib,
    cores: numbers.cpu_cores,
    compute: numbers.cpu_gflops,
    bandwidth: numbers.cpu_gb_per_s,
    disk: numbers.disk_gb_per_s,
  });
  if (family === undefined) return machine(readNumbers(row, MACHINE), undefined);
  if (family === 'apple' || family === 'unified') {
    const numbers = readNumbers(row, [...MACHINE, ...SHARED_GPU]);
    return machine(numbers, { kind: 'shared', family, compute: numbers.gpu_tflops, bandwidth: numbers.gpu_gb_per_s });
  }
  const numbers = readOwnGpu(row, [...MACHINE, ...OWN_GPU]);
  return machine(numbers, readGpu(numbers, name, family));
}

/** Parts by name, separated by spaces. */
function readUpgradable(row: CsvRow<Column>): UpgradablePart[] {
  const names = row.cell('upgradable').split(' ').filter(Boolean);
  return names.map((name) => {
    const part = UPGRADABLE_PARTS.find((one) => one === name);
    if (part !== undefined) return part;
    throw new InputError(row.where('upgradable'), `unknown "${name}"${suggestion(name, UPGRADABLE_PARTS)}`);
  });
}

/** Numbers of a row with a GPU, and the rate of its matrix units, where it states one. */
function readOwnGpu<Wanted extends NumberColumn>(
  row: CsvRow<Column>,
  wanted: readonly Wanted[],
): Readonly<Record<Wanted, Stated>> & { readonly [MATRIX]?: Stated } {
  return row.cell(MATRIX) === '' ? readNumbers(row, wanted) : readNumbers(row, [...wanted, MATRIX]);
}

function readGpu(
  numbers: Readonly<Record<(typeof OWN_GPU)[number], Stated>> & { readonly [MATRIX]?: Stated },
  name: string,
  family: GpuPart['family'],
): GpuPart {
  return {
    ...{ kind: 'gpu', name, family },
    memory: numbers.gpu_memory_gib,
    compute: numbers.gpu_tflops,
    matrix: numbers[MATRIX],
    bandwidth: numbers.gpu_gb_per_s,
    hostLink: numbers.host_link_gb_per_s,
  };
}

/** The numbers of a row, each with its source; other columns of numbers must be empty. */
function readNumbers<Wanted extends NumberColumn>(
  row: CsvRow<Column>,
  wanted: readonly Wanted[],
): Readonly<Record<Wanted, Stated>> {
  const sources = readSources(row);
  const superfluous = NUMBER_COLUMNS.find(
    (column) => row.cell(column) !== '' && !(wanted as readonly string[]).includes(column),
  );
  if (superfluous !== undefined)
    throw new InputError(row.where(superfluous), `a ${row.cell('kind')} has no such number; leave it empty`);
  const entries = wanted.map((column): [Wanted, Stated] => {
    const value = Number(row.cell(column));
    const [least, most] = NUMBERS[column];
    if (row.cell(column) === '' || !(value >= least && value <= most))
      throw new InputError(row.where(column), `"${row.cell(column)}" is not a number between ${least} and ${most}`);
    const source = sources.get(column);
    if (source === undefined)
      throw new InputError(row.where('sources'), `has none for ${column}; add "${column}: specification: …"`);
    return [column, { value, source }];
  });
  return Object.fromEntries(entries) as Record<Wanted, Stated>;
}

/** `columns: kind: text`, separated by ` | `: the source of each column. */
function readSources(row: CsvRow<Column>): ReadonlyMap<string, string> {
  const sources = new Map<string, string>();
  for (const entry of row.cell('sources').split(' | ')) {
    const colon = entry.indexOf(': ');
    const [columns, source] = [entry.slice(0, colon).split(' '), entry.slice(colon + 2)];
    if (colon < 0 || !SOURCE.test(source))
      throw new InputError(row.where('sources'), `"${entry}" is not "columns: kind: text", such as "${EXAMPLE}"`);
    for (const column of columns) {
      if (!(NUMBER_COLUMNS as string[]).includes(column) || row.cell(column as Column) === '')
        throw new InputError(row.where('sources'), `names "${column}", which the row doesn’t have`);
      sources.set(column, source);
    }
  }
  return sources;
}

const EXAMPLE = 'gpu_gb_per_s: specification: NVIDIA GeForce RTX 3060';
