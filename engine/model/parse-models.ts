import { InputError } from '../input/input-error.ts';
import { type CsvRow, parseCsv } from '../input/parse-csv.ts';
import { type Shape, UNIFORM_ARCHITECTURES, type UniformArchitecture, uniformShape } from './architecture.ts';
import { MIXES, type Mix } from './mix.ts';

/** A row of a models file: a shape, and the mix used where none is named. */
export interface CatalogueModel {
  readonly shape: Shape;
  readonly defaultMix: Mix;
  readonly provenance: string;
}

const COUNTS = ['layers', 'hidden_size', 'ffn_size', 'heads', 'kv_heads', 'head_size', 'vocabulary_size'] as const;
const FLAGS = ['tied_embeddings', 'qkv_bias'] as const;
const OPTIONAL = ['trained_context'] as const;
const COLUMNS = ['name', 'architecture', ...COUNTS, ...OPTIONAL, ...FLAGS, 'default_mix', 'provenance'] as const;
type Column = (typeof COLUMNS)[number];

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

function parseRow({ cell, where, oneOf }: CsvRow<Column>): CatalogueModel {
  const count = (column: (typeof COUNTS | typeof OPTIONAL)[number]): number => {
    const value = Number(cell(column));
    const limit = column === 'layers' ? LAYER_LIMIT : COUNT_LIMIT;
    if (cell(column) === '' || !Number.isInteger(value) || value < 1 || value > limit) {
      throw new InputError(where(column), `"${cell(column)}" is not a whole number between 1 and ${limit}`);
    }
    return value;
  };
  const flag = (column: (typeof FLAGS)[number]): boolean => {
    if (cell(column) !== 'true' && cell(column) !== 'false') {
      throw new InputError(where(column), `"${cell(column)}" is neither true nor false`);
    }
    return cell(column) === 'true';
  };
  if (cell('name') === '') throw new InputError(where('name'), 'is empty; give the model a name');
  const heads = count('heads');
  const kvHeads = count('kv_heads');
  if (heads % kvHeads !== 0)
    throw new InputError(where('kv_heads'), `${kvHeads} does not divide the ${heads} query heads`);
  const shape = uniformShape({
    name: cell('name'),
    architecture: oneOf<UniformArchitecture>('architecture', UNIFORM_ARCHITECTURES),
    layers: count('layers'),
    hiddenSize: count('hidden_size'),
    ffnSize: count('ffn_size'),
    heads,
    kvHeads,
    headSize: count('head_size'),
    vocabularySize: count('vocabulary_size'),
    tiedEmbeddings: flag('tied_embeddings'),
    qkvBias: flag('qkv_bias'),
    ...(cell('trained_context') !== '' && { trainedContext: count('trained_context') }),
  });
  return { shape, defaultMix: oneOf<Mix>('default_mix', MIXES), provenance: cell('provenance') };
}
