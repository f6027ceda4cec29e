import { InputError, suggestion } from '../input/input-error.ts';
import { type CsvRow, parseCsv } from '../input/parse-csv.ts';
import type { Shape } from '../model/architecture.ts';
import { MIXES, type Mix } from '../model/mix.ts';
import { FAMILIES } from './architectures/families.ts';
import { metadataFields } from './metadata-fields.ts';
import { parseMetadataPairs } from './metadata-pairs.ts';
import type { MetadataValue } from './metadata-value.ts';
import { shapeFromMetadata } from './shape-from-metadata.ts';

/** A row of a models file: a shape, and the mix used where none is named. */
export interface CatalogueModel {
  readonly shape: Shape;
  readonly defaultMix: Mix;
  readonly provenance: string;
}

/** Whether people can download a model: shapes that only a paper has are left out of lists. */
export function isPublished({ provenance }: Pick<CatalogueModel, 'provenance'>): boolean {
  return !provenance.startsWith('assumed');
}

const USUAL_MIX: Mix = 'Q4_K_M';

/** The mix in which people usually run a model: Q4_K_M, or what it is published in where that is of four bits. */
export function usualMix({ defaultMix }: Pick<CatalogueModel, 'defaultMix'>): Mix {
  return defaultMix === 'MXFP4_MOE' ? defaultMix : USUAL_MIX;
}

const COUNTS = ['layers', 'hidden_size', 'ffn_size', 'heads', 'kv_heads', 'head_size', 'vocabulary_size'] as const;
const FLAGS = ['tied_embeddings', 'qkv_bias'] as const;
/** Metadata keys by the columns that stand for them; those of OPTIONAL may be empty. */
const KEYS = {
  layers: 'block_count',
  hidden_size: 'embedding_length',
  ffn_size: 'feed_forward_length',
  heads: 'attention.head_count',
  kv_heads: 'attention.head_count_kv',
  head_size: 'attention.key_length',
  trained_context: 'context_length',
  window: 'attention.sliding_window',
  experts: 'expert_count',
  experts_used: 'expert_used_count',
  expert_size: 'expert_feed_forward_length',
  shared_expert_size: 'expert_shared_feed_forward_length',
  dense_layers: 'leading_dense_block_count',
} as const;
const MIXTURE = ['window', 'experts', 'experts_used', 'expert_size', 'shared_expert_size', 'dense_layers'] as const;
/**
 * `metadata`: what the other columns don't say (metadata-pairs.ts); `other_tensors`: tensors of a layer that only some models
 * of the family have, by their names in a file.
 */
const OPTIONAL = ['trained_context', ...MIXTURE, 'metadata', 'other_tensors'] as const;
const COLUMNS = ['name', 'architecture', ...COUNTS, ...OPTIONAL, ...FLAGS, 'default_mix', 'provenance'] as const;
type Column = (typeof COLUMNS)[number];
type CountColumn = (typeof COUNTS)[number] | keyof typeof KEYS;

/** Largest count, an order of magnitude above every published model. */
const COUNT_LIMIT = 10_000_000;
const LAYER_LIMIT = 1000;

/**
 * Parses a models file (CSV; columns in datasets/README.md).
 * @param file name of the file, for messages
 * @throws InputError with file, row and column
 */
export function parseModels(text: string, file: string): CatalogueModel[] {
  const models = parseCsv(text, file, COLUMNS, OPTIONAL).map(parseRow);
  if (models.length === 0) throw new InputError(file, 'has no model; give one row per model below the header');
  const names = models.map((model) => model.shape.name);
  const twice = names.findIndex((name, index) => names.indexOf(name) !== index);
  if (twice >= 0)
    throw new InputError(`${file}: row ${twice + 2}, column name`, `"${names[twice]}" occurs twice; rename one`);
  return models;
}

function parseRow(row: CsvRow<Column>): CatalogueModel {
  const { cell, where, oneOf } = row;
  if (cell('name') === '') throw new InputError(where('name'), 'is empty; give the model a name');
  const heads = readCell(row, 'heads');
  const kvHeads = readCell(row, 'kv_heads');
  if (heads % kvHeads !== 0)
    throw new InputError(where('kv_heads'), `${kvHeads} does not divide the ${heads} query heads`);
  const architecture = oneOf('architecture', Object.keys(FAMILIES));
  const columns = Object.keys(KEYS) as (keyof typeof KEYS)[];
  const pairs = parseMetadataPairs(cell('metadata'), where('metadata'));
  const metadata = new NotedMetadata([
    ['general.architecture', { type: 'string', value: architecture }],
    ...columns
      .filter((column) => cell(column) !== '' || !isOptional(column))
      .map((column): [string, MetadataValue] => [
        `${architecture}.${KEYS[column]}`,
        { type: 'uint32', value: readCell(row, column) },
      ]),
    ...[...pairs].map(([key, value]): [string, MetadataValue] => [`${architecture}.${key}`, value]),
  ]);
  const others = new Set(cell('other_tensors').split(/\s+/));
  const [isTied, hasBias] = [readFlag(row, 'tied_embeddings'), readFlag(row, 'qkv_bias')];
  const shape = shapeFromMetadata({
    fields: metadataFields(where('name'), metadata, (key) => placeOf(key, architecture, pairs, where)),
    has: (tensor) =>
      tensor === 'output.weight'
        ? !isTied
        : /^blk\.0\.attn_[qkv]\.bias$/.test(tensor)
          ? hasBias
          : others.has(tensor.replace(/^blk\.\d+\.|\.(weight|bias)$/g, '')),
    vocabularySize: readCell(row, 'vocabulary_size'),
    name: cell('name'),
  });
  for (const key of pairs.keys())
    if (!metadata.read.has(`${architecture}.${key}`)) {
      const known = [...metadata.read].map((one) => one.replace(`${architecture}.`, ''));
      throw new InputError(where('metadata'), `"${key}" is not read of this model${suggestion(key, known)}`);
    }
  return { shape, defaultMix: oneOf<Mix>('default_mix', MIXES), provenance: cell('provenance') };
}

/** Metadata with the keys that were asked for. */
class NotedMetadata extends Map<string, MetadataValue> {
  readonly read = new Set<string>();

  override has(key: string): boolean {
    this.read.add(key);
    return super.has(key);
  }

  override get(key: string): MetadataValue | undefined {
    this.read.add(key);
    return super.get(key);
  }
}

/** The column that stands for a metadata key, or the column of all others with the key. */
function placeOf(
  key: string,
  architecture: string,
  pairs: ReadonlyMap<string, MetadataValue>,
  where: (column: Column) => string,
): string {
  if (key === 'general.architecture') return where('architecture');
  const name = key.replace(`${architecture}.`, '');
  const columns = Object.keys(KEYS) as (keyof typeof KEYS)[];
  const column = pairs.has(name) ? undefined : columns.find((one) => KEYS[one] === name);
  return column === undefined ? `${where('metadata')}, ${name}` : where(column);
}

function isOptional(column: Column): boolean {
  return (OPTIONAL as readonly Column[]).includes(column);
}

function readCell({ cell, where }: CsvRow<Column>, column: CountColumn): number {
  const value = Number(cell(column));
  const limit = column === 'layers' ? LAYER_LIMIT : COUNT_LIMIT;
  if (cell(column) === '' || !Number.isInteger(value) || value < 1 || value > limit)
    throw new InputError(where(column), `"${cell(column)}" is not a whole number between 1 and ${limit}`);
  return value;
}

function readFlag({ cell, where }: CsvRow<Column>, column: (typeof FLAGS)[number]): boolean {
  if (cell(column) !== 'true' && cell(column) !== 'false')
    throw new InputError(where(column), `"${cell(column)}" is neither true nor false`);
  return cell(column) === 'true';
}
