import { InputError } from '../../engine/input/input-error.ts';
import { ARCHITECTURES, type Shape, type TensorRole, tensorShapes } from '../../engine/model/architecture.ts';
import { countModel, type Model, type Tensor } from '../../engine/model/model.ts';
import { QUANTIZATION_NAMES, type Quantization, quantizedBytes } from '../../engine/model/quantization.ts';

/**
 * A model from a file as a short text for the page's address: its shape, and the format of each tensor, as JSON that is
 * deflated (RFC 1951) and written in base64url. A model of 80 layers takes about three thousand characters.
 */

/** A tensor: role, layer (−1 for none), rows, columns, format. */
type TensorRow = readonly [TensorRole, number, number, number, Quantization];

interface Content {
  readonly shape: Shape;
  readonly mix: string;
  readonly tensors: readonly TensorRow[];
}

/** More characters than this are no model of this page. */
const MOST_CHARACTERS = 32_768;
/** Bytes of JSON: 10,000 tensors. */
const MOST_BYTES = 2 ** 19;
const LARGEST = 10_000_000;
const MOST_NAME = 200;

/** Roles that no shape has, which files may have beside. */
const OTHER_ROLES: readonly TensorRole[] = ['attn_qkv', 'rope_freqs'];

const COUNTS = ['layers', 'hiddenSize', 'ffnSize', 'heads', 'kvHeads', 'headSize', 'vocabularySize'] as const;

/** The text of a model, which `decodeModel` reads. */
export async function encodeModel({ mix, tensors, ...model }: Model): Promise<string> {
  const { name, architecture, tiedEmbeddings, qkvBias, trainedContext } = model;
  const { layers, hiddenSize, ffnSize, heads, kvHeads, headSize, vocabularySize } = model;
  const counts = { layers, hiddenSize, ffnSize, heads, kvHeads, headSize, vocabularySize };
  const rows = tensors.map(
    ({ role, layer = -1, rows, columns, quantization }): TensorRow => [role, layer, rows, columns, quantization],
  );
  const content: Content = {
    shape: {
      ...{ name, architecture, ...counts, tiedEmbeddings, qkvBias },
      ...(trainedContext !== undefined && { trainedContext }),
    },
    mix,
    tensors: rows,
  };
  const deflated = new Blob([JSON.stringify(content)]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = new Uint8Array(await new Response(deflated).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

/** The model that a text of `encodeModel` stands for. @throws InputError for any other text */
export async function decodeModel(text: string): Promise<Model> {
  try {
    const content: unknown = JSON.parse(await inflate(text));
    return modelOf(content as Content);
  } catch (error) {
    const reason = error instanceof RangeError ? `: ${error.message}` : '';
    throw new InputError('the model in this address', `can't be read${reason}; drop its file on the page again`);
  }
}

/** @throws RangeError for more than a model takes */
async function inflate(text: string): Promise<string> {
  if (text.length > MOST_CHARACTERS) throw new RangeError('it is too long');
  const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
  const decoder = new TextDecoder();
  let json = '';
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return json + decoder.decode();
    size += value.length;
    if (size > MOST_BYTES) throw new RangeError('it is too large');
    json += decoder.decode(value, { stream: true });
  }
}

/** @throws RangeError for what no file has; TypeError for another structure */
function modelOf({ shape: given, mix, tensors }: Content): Model {
  const { name, architecture, tiedEmbeddings, qkvBias, trainedContext } = given;
  const counts = Object.fromEntries(COUNTS.map((key) => [key, count(given[key])])) as Pick<
    Shape,
    (typeof COUNTS)[number]
  >;
  if (!ARCHITECTURES.includes(architecture)) throw new RangeError('its architecture is unknown');
  if (![name, mix].every((text) => typeof text === 'string' && text.length <= MOST_NAME))
    throw new RangeError('its name is none');
  if (counts.layers > tensors.length) throw new RangeError('tensors are missing');
  const shape: Shape = {
    name,
    architecture,
    ...counts,
    tiedEmbeddings: tiedEmbeddings === true,
    qkvBias: qkvBias === true,
    ...(trainedContext !== undefined && { trainedContext: count(trainedContext) }),
  };
  const roles = new Set([...tensorShapes({ ...shape, layers: 1 }).map(({ role }) => role), ...OTHER_ROLES]);
  return countModel(
    shape,
    mix,
    tensors.map((row) => tensorOf(row, roles, shape)),
  );
}

function tensorOf(
  [role, layer, rows, columns, quantization]: TensorRow,
  roles: ReadonlySet<TensorRole>,
  shape: Shape,
): Tensor {
  if (!roles.has(role) || !QUANTIZATION_NAMES.includes(quantization)) throw new RangeError('a tensor is unknown');
  if (layer !== -1 && !(Number.isInteger(layer) && layer >= 0 && layer < shape.layers))
    throw new RangeError('a tensor is in no layer');
  const bytes = quantizedBytes(count(rows) * count(columns), quantization);
  return { role, layer: layer === -1 ? undefined : layer, rows, columns, quantization, bytes };
}

function count(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= LARGEST) return value;
  throw new RangeError('a number is out of range');
}
