import { createHash } from 'node:crypto';
import type { ByteSource } from '../../gguf/byte-source.ts';
import type { Gguf } from '../../gguf/gguf.ts';
import { quoted } from '../../gguf/gguf-error.ts';
import { formatBytes } from '../../input/format.ts';
import { InputError } from '../../input/input-error.ts';
import { parseJson } from '../../input/parse-json.ts';
import { type Fields, readFields } from '../../input/read-fields.ts';
import { READ_ALIGNMENT } from '../../kernels/file-pages.ts';
import { EXPERT_MATRICES, type ExpertMatrix } from '../../model/block/layer-weight.ts';
import { type ExpertBytes, expertMatrixBytes, type PlacedExperts } from './placed-experts.ts';

/**
 * A file of packed experts, in which the matrices of an expert lie one behind the other, from a whole page on, so that one
 * read brings them all past the page cache. It begins with MAGIC, the version and the bytes of a header (two 32-bit numbers,
 * little-endian) and that header, JSON of a PackedHeader. Experts follow from the next whole page on: layer by layer, in each
 * expert by expert.
 */
export interface PackedHeader {
  readonly model: PackedModel;
  readonly layers: readonly PackedLayer[];
}

/** The model whose experts are packed. */
export interface PackedModel {
  readonly name: string;
  /** Bytes of its file. */
  readonly bytes: number;
  /** modelDigest */
  readonly digest: string;
}

export interface PackedLayer {
  readonly layer: number;
  readonly experts: number;
  /** The matrices of an expert, in order. */
  readonly matrices: readonly { readonly role: ExpertMatrix; readonly bytes: number }[];
}

const MAGIC = 'HEARTHPX';
const VERSION = 1;
const PREFIX_BYTES = MAGIC.length + 8;
/** Headers of 100 layers have 20 KiB. */
const MOST_HEADER_BYTES = 2 ** 22;
/** Larger than any expert; sums of this many experts and layers are exact. */
const MOST_MATRIX_BYTES = 2 ** 32;

const inPages = (bytes: number): number => Math.ceil(bytes / READ_ALIGNMENT) * READ_ALIGNMENT;

/** The header of a model's packed experts. @param layers by index of the layer, with places in the model's file */
export function packedHeader(
  model: PackedModel,
  layers: ReadonlyMap<number, Pick<PlacedExperts, 'experts' | 'matrices'>>,
): PackedHeader {
  return {
    model,
    layers: [...layers].map(([layer, { experts, matrices }]) => ({
      ...{ layer, experts },
      matrices: matrices.map((own) => ({ role: own.role, bytes: expertMatrixBytes(own) })),
    })),
  };
}

/** The bytes of a file before its first expert. */
export function encodePackedHeader(header: PackedHeader): Uint8Array {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new Uint8Array(inPages(PREFIX_BYTES + text.length));
  bytes.set(new TextEncoder().encode(MAGIC));
  const view = new DataView(bytes.buffer);
  view.setUint32(MAGIC.length, VERSION, true);
  view.setUint32(MAGIC.length + 4, text.length, true);
  bytes.set(text, PREFIX_BYTES);
  return bytes;
}

/** Bytes from one expert of a layer to the next. */
export function packedStride({ matrices }: PackedLayer): number {
  return inPages(matrices.reduce((sum, { bytes }) => sum + bytes, 0));
}

/** A file's header, and the byte from which each layer's experts lie. */
export interface PackedFile extends PackedHeader {
  readonly begins: readonly number[];
}

/**
 * Reads and checks the header of packed experts.
 * @throws InputError for a file of another kind or version, a malformed header, and one that doesn't fit the file's size
 */
export function readPacked(source: ByteSource): PackedFile {
  const { name: file, size } = source;
  const advice = 'give a file of hearth pack-experts';
  const magic = size < PREFIX_BYTES ? '' : new TextDecoder('latin1').decode(source.read(0, MAGIC.length));
  if (magic !== MAGIC) throw new InputError(file, `does not begin with ${MAGIC}; ${advice}`);
  const prefix = source.read(MAGIC.length, PREFIX_BYTES - MAGIC.length);
  const numbers = new DataView(prefix.buffer, prefix.byteOffset, prefix.byteLength);
  const [version, length] = [numbers.getUint32(0, true), numbers.getUint32(4, true)];
  if (version !== VERSION)
    throw new InputError(
      `${file}: byte ${MAGIC.length}`,
      `is of version ${version}; this is version ${VERSION}: pack again`,
    );
  const most = Math.min(MOST_HEADER_BYTES, size - PREFIX_BYTES);
  if (length > most)
    throw new InputError(
      `${file}: byte ${MAGIC.length + 4}`,
      `is a header of ${length} bytes; at most ${most} are possible here`,
    );
  const header = readHeader(source.read(PREFIX_BYTES, length), file);
  let end = inPages(PREFIX_BYTES + length);
  const begins = header.layers.map((layer) => {
    const begin = end;
    end += layer.experts * packedStride(layer);
    return begin;
  });
  if (end !== size)
    throw new InputError(
      file,
      `has ${size} bytes, and its header describes ${end}; it is incomplete or malformed: pack again`,
    );
  return { ...header, begins };
}

function readHeader(bytes: Uint8Array, file: string): PackedHeader {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new InputError(`${file}: byte ${PREFIX_BYTES}`, 'the header is not UTF-8; pack again');
  }
  const fields = readFields(parseJson(text, `${file}: header`), `${file}: header`, '', () => {});
  const own = fields.object('model');
  const model = {
    name: own.text('name'),
    bytes: readBytes(own, 'bytes', Number.MAX_SAFE_INTEGER),
    digest: own.text('digest'),
  };
  own.end();
  let before = -1;
  const layers = fields.list('layers').map((one) => {
    const layer = one.count('layer', 0);
    if (layer <= before) throw new InputError(one.place('layer'), `is ${layer} behind ${before}; layers rise`);
    before = layer;
    const experts = one.count('experts');
    const roles = new Set<string>();
    const matrices = one.list('matrices').map((matrix) => {
      const role = matrix.oneOf('role', EXPERT_MATRICES);
      if (roles.has(role)) throw new InputError(matrix.place('role'), `is "${role}" twice; an expert has one`);
      roles.add(role);
      const found = { role, bytes: readBytes(matrix, 'bytes', MOST_MATRIX_BYTES) };
      matrix.end();
      return found;
    });
    if (matrices.length === 0) throw new InputError(one.place('matrices'), 'is empty; an expert has matrices');
    one.end();
    return { layer, experts, matrices };
  });
  if (layers.length === 0) throw new InputError(fields.place('layers'), 'is empty; packed experts are those of layers');
  fields.end();
  return { model, layers };
}

function readBytes(fields: Fields, key: string, most: number): number {
  const bytes = fields.amount(key);
  if (Number.isInteger(bytes) && bytes >= 1 && bytes <= most) return bytes;
  throw new InputError(fields.place(key), `is ${bytes}; a whole number of bytes from 1 to ${most} is needed`);
}

/**
 * Places in a file of packed experts.
 * @param layers those of the model, by index
 * @throws InputError for the experts of another model
 */
export function placePacked(
  file: string,
  { begins, ...found }: PackedFile,
  model: PackedModel,
  layers: ReadonlyMap<number, PlacedExperts>,
): Map<number, PlacedExperts> {
  if (found.model.digest !== model.digest || found.model.bytes !== model.bytes) {
    const other = `${quoted(found.model.name)} with ${formatBytes(found.model.bytes)}`;
    const own = `${quoted(model.name)} with ${formatBytes(model.bytes)}`;
    throw new InputError(
      file,
      `has the experts of another model file (${other}; this is ${own}); pack those of this one`,
    );
  }
  const expected = packedHeader(model, layers);
  if (JSON.stringify(expected.layers) !== JSON.stringify(found.layers))
    throw new InputError(file, `has other layers or matrices than ${quoted(model.name)}; pack again`);
  return new Map(
    [...layers].map(([layer, own], index): [number, PlacedExperts] => {
      const packed = found.layers[index] as PackedLayer;
      const [begin, stride] = [begins[index] as number, packedStride(packed)];
      let behind = 0;
      const matrices = own.matrices.map((matrix): ExpertBytes => {
        const [at, bytes] = [behind, expertMatrixBytes(matrix)];
        behind += bytes;
        const rangeOf: ExpertBytes['rangeOf'] = (expert) => {
          const from = begin + expert * stride + at;
          return { from, to: from + bytes };
        };
        return { ...matrix, rangeOf };
      });
      return [layer, { experts: own.experts, matrices, together: true }];
    }),
  );
}

/** Bytes of an expert's matrix that count for the digest. */
const SAMPLE_BYTES = 4096;

/**
 * The model of a file, with a digest (SHA-256, hexadecimal) of what tells it from others without being read as a whole: names,
 * shapes, formats and places of all tensors, and the beginning of each matrix of each layer's first and last expert.
 */
export function packedModelOf(
  name: string,
  { tensors, fileBytes }: Gguf,
  source: ByteSource,
  layers: ReadonlyMap<number, PlacedExperts>,
): PackedModel {
  const hash = createHash('sha256');
  hash.update(JSON.stringify(tensors.map(({ name: tensor, type, shape, offset }) => [tensor, type, shape, offset])));
  for (const { experts, matrices } of layers.values())
    for (const { rangeOf } of matrices)
      for (const expert of [0, experts - 1]) {
        const { from, to } = rangeOf(expert);
        hash.update(source.read(from, Math.min(SAMPLE_BYTES, to - from)));
      }
  return { name, bytes: fileBytes, digest: hash.digest('hex') };
}
