import { InputError } from '../../engine/input/input-error.ts';
import { type Shape, type TensorRole, tensorShapes } from '../../engine/model/architecture.ts';
import { describe } from '../../engine/model/block/describe.ts';
import type { LayerKind } from '../../engine/model/layer-kind.ts';
import { countModel, type Model, type Tensor } from '../../engine/model/model.ts';
import { QUANTIZATION_NAMES, type Quantization, quantizedBytes } from '../../engine/model/quantization.ts';
import { amount, count } from './checked-numbers.ts';
import { kindFromJson } from './kind-from-json.ts';

/**
 * A model from a file as a short text for the page's address: its shape, and the format of each tensor, as JSON that is
 * deflated (RFC 1951) and written in base64url. A model of 80 layers takes about three thousand characters.
 */

/** A tensor: role, layer (−1 for none), rows, columns, format. */
type TensorRow = readonly [TensorRole, number, number, number, Quantization];

interface Content {
  readonly shape: Omit<Shape, 'layers' | 'kinds'>;
  /** The kinds of layers, and that of each layer. */
  readonly kinds: readonly LayerKind[];
  readonly layers: readonly number[];
  readonly mix: string;
  readonly tensors: readonly TensorRow[];
}

/** More characters than this are no model of this page. */
const MOST_CHARACTERS = 32_768;
/** Bytes of JSON: 10,000 tensors. */
const MOST_BYTES = 2 ** 19;
const MOST_NAME = 200;

/** Roles that no shape has, which files may have in addition. */
const OTHER_ROLES: readonly TensorRole[] = [
  ...(['attn_qkv', 'ffn_gate_up_exps'] as const),
  ...(['rope_freqs', 'rope_factors_short', 'rope_factors_long'] as const),
];

const FACTS = ['name', 'architecture', 'hiddenSize', 'vocabularySize', 'tiedEmbeddings'] as const;
const FACTORS = ['embeddingScale', 'logitScale', 'logitCap', 'trainedContext', 'layerInputs'] as const;

/** The text of a model, which `decodeModel` reads. */
export async function encodeModel(model: Model): Promise<string> {
  const { mix, tensors, kinds: all } = model;
  const shape = Object.fromEntries(
    [...FACTS, ...FACTORS].map((key) => [key, model[key]]),
  ) as unknown as Content['shape'];
  const kinds = [...new Set(all)];
  const rows = tensors.map(
    ({ role, layer = -1, rows, columns, quantization }): TensorRow => [role, layer, rows, columns, quantization],
  );
  const content: Content = { shape, kinds, layers: all.map((kind) => kinds.indexOf(kind)), mix, tensors: rows };
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
    throw new InputError('the model in this address', `can’t be read${reason}; drop its file on the page again`);
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
function modelOf({ shape: given, kinds: givenKinds, layers, mix, tensors }: Content): Model {
  const { name, architecture, tiedEmbeddings, hiddenSize, vocabularySize } = given;
  if (![name, mix, architecture].every((text) => typeof text === 'string' && text.length <= MOST_NAME))
    throw new RangeError('its name is none');
  if (layers.length > tensors.length) throw new RangeError('tensors are missing');
  const read = givenKinds.map(kindFromJson);
  const kinds = layers.map((index) => {
    const kind = read[index];
    if (kind === undefined) throw new RangeError('a layer is of no kind');
    return kind;
  });
  const shape: Shape = {
    ...{ name, architecture, layers: count(layers.length), kinds },
    ...{
      hiddenSize: count(hiddenSize),
      vocabularySize: count(vocabularySize),
      tiedEmbeddings: tiedEmbeddings === true,
    },
    ...Object.fromEntries(FACTORS.flatMap((key) => (given[key] === undefined ? [] : [[key, amount(given[key])]]))),
  };
  const roles = new Set([...tensorShapes(shape).map(({ role }) => role), ...OTHER_ROLES]);
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
  const kind = layer === -1 ? undefined : shape.kinds[layer];
  const experts = kind && describe(kind, shape.hiddenSize).weights.find((weight) => weight.role === role)?.experts;
  return {
    ...{ role, layer: layer === -1 ? undefined : layer, rows, columns, quantization, bytes },
    ...(experts !== undefined && { experts }),
  };
}
