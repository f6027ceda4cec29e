import { InputError } from '../input/input-error.ts';
import type { MetadataArray, MetadataValue } from './metadata-value.ts';

/** No model has more layers, for each of which a list has a value. */
const LONGEST_LIST = 1000;

type Scalar =
  | { readonly type: 'uint32' | 'float32'; readonly value: number }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'string'; readonly value: string };

/**
 * Metadata in one line, pairs of a key and its value with spaces between: a whole number (uint32), a number with a point
 * (float32), `true`, `false`, any other text, or a list of one of them with commas between, in which `0*3` is three zeros:
 *
 *     ssm.state_size=128 rope.scaling.type=yarn attention.head_count_kv=0*2,8,0*3,8
 *
 * @param where the place of the text, for messages
 * @throws InputError for anything but pairs, keys that occur twice, and lists of unlike values or of more than 1000
 */
export function parseMetadataPairs(text: string, where: string): Map<string, MetadataValue> {
  const pairs = new Map<string, MetadataValue>();
  for (const pair of text.split(/\s+/).filter((part) => part !== '')) {
    const [, key, value] = /^([\w.]+)=(.+)$/.exec(pair) ?? [];
    if (key === undefined || value === undefined)
      throw new InputError(where, `"${pair}" isn’t a pair; write key=value, with spaces between pairs`);
    if (pairs.has(key)) throw new InputError(where, `"${key}" occurs twice; give it one value`);
    pairs.set(key, /[,*]/.test(value) ? list(value, `${where}, ${key}`) : scalar(value));
  }
  return pairs;
}

function scalar(text: string): Scalar {
  if (/^\d+$/.test(text)) return { type: 'uint32', value: Number(text) };
  if (/^\d+\.\d+$/.test(text)) return { type: 'float32', value: Math.fround(Number(text)) };
  return text === 'true' || text === 'false'
    ? { type: 'bool', value: text === 'true' }
    : { type: 'string', value: text };
}

function list(text: string, where: string): MetadataValue {
  const values: Scalar[] = [];
  for (const part of text.split(',')) {
    const [, one, times = '1'] = /^([^*]+)(?:\*(\d+))?$/.exec(part) ?? [];
    if (one === undefined)
      throw new InputError(where, `"${part}" isn’t a value of a list; write 8, or 0*3 for three zeros`);
    if (values.length + Number(times) > LONGEST_LIST)
      throw new InputError(where, `has more than ${LONGEST_LIST} values; no model has so many layers`);
    values.push(...new Array<Scalar>(Number(times)).fill(scalar(one)));
  }
  const { type } = values[0] ?? scalar('');
  if (values.some((one) => one.type !== type)) throw new InputError(where, 'has values of unlike types');
  return { type: 'array', value: arrayOf(type, values) };
}

function arrayOf(of: Scalar['type'], values: readonly Scalar[]): MetadataArray {
  return of === 'string'
    ? { of, values: values.map(({ value }) => String(value)) }
    : { of, values: values.map(({ value }) => Number(value)) };
}
