import { QUANTIZATIONS, type Quantization, quantizedBytes } from '../model/quantization.ts';
import { type Metadata, type MetadataArray, type MetadataValue, VALUE_BYTES, VALUE_TYPES } from './metadata-value.ts';
import { DEFAULT_ALIGNMENT, GGUF_MAGIC } from './read-gguf.ts';

/** A tensor's entry in a header, without its offset; the shape is in ggml's order (gguf.ts). */
export interface TensorHeading {
  readonly name: string;
  readonly shape: readonly number[];
  readonly type: Quantization;
}

const VERSION = 3;

/** Bytes that a tensor's data take. */
export function tensorBytes({ shape, type }: TensorHeading): number {
  return quantizedBytes(
    shape.reduce((product, length) => product * length, 1),
    type,
  );
}

/** Padding in bytes from `bytes` to the next multiple of the alignment, 32. */
export function paddingAfter(bytes: number): number {
  return (DEFAULT_ALIGNMENT - (bytes % DEFAULT_ALIGNMENT)) % DEFAULT_ALIGNMENT;
}

/**
 * The header of a file of version 3, padded to the beginning of the data. The tensors' data must follow in the given
 * order, each padded to a multiple of 32 bytes.
 * @throws RangeError if the metadata set another alignment
 */
export function encodeHeader(metadata: Metadata, tensors: readonly TensorHeading[]): Uint8Array {
  if (metadata.has('general.alignment')) throw new RangeError('general.alignment is not written: it is 32');
  const out = createOutput();
  out.number('uint32', GGUF_MAGIC);
  out.number('uint32', VERSION);
  out.count(tensors.length);
  out.count(metadata.size);
  for (const [key, value] of metadata) {
    out.text(key);
    writeValue(out, value);
  }
  let offset = 0;
  for (const tensor of tensors) {
    out.text(tensor.name);
    out.number('uint32', tensor.shape.length);
    for (const length of tensor.shape) out.count(length);
    out.number('uint32', QUANTIZATIONS[tensor.type].ggmlType);
    out.count(offset);
    const bytes = tensorBytes(tensor);
    offset += bytes + paddingAfter(bytes);
  }
  return out.padded();
}

type FixedType = keyof typeof VALUE_BYTES;
type Output = ReturnType<typeof createOutput>;

function writeValue(out: Output, value: MetadataValue): void {
  out.number('uint32', VALUE_TYPES[value.type]);
  if (value.type === 'string') out.text(value.value);
  else if (value.type === 'array') writeArray(out, value.value);
  else out.number(value.type, value.value);
}

function writeArray(out: Output, array: MetadataArray): void {
  out.number('uint32', VALUE_TYPES[array.of]);
  out.count(array.values.length);
  if (array.of === 'string') for (const text of array.values) out.text(text);
  else for (let index = 0; index < array.values.length; index++) out.number(array.of, array.values[index] ?? 0);
}

/** A buffer that grows as it is written. */
function createOutput() {
  let bytes = new Uint8Array(2 ** 16);
  let view = new DataView(bytes.buffer);
  let length = 0;
  const encoder = new TextEncoder();
  const grow = (more: number): number => {
    if (length + more > bytes.length) {
      const larger = new Uint8Array(Math.max(2 * bytes.length, length + more));
      larger.set(bytes);
      bytes = larger;
      view = new DataView(bytes.buffer);
    }
    const at = length;
    length += more;
    return at;
  };
  const number = (type: FixedType, value: number | bigint | boolean): void => {
    const at = grow(VALUE_BYTES[type]);
    switch (type) {
      case 'uint8':
      case 'bool':
        view.setUint8(at, Number(value));
        break;
      case 'int8':
        view.setInt8(at, Number(value));
        break;
      case 'uint16':
        view.setUint16(at, Number(value), true);
        break;
      case 'int16':
        view.setInt16(at, Number(value), true);
        break;
      case 'uint32':
        view.setUint32(at, Number(value), true);
        break;
      case 'int32':
        view.setInt32(at, Number(value), true);
        break;
      case 'float32':
        view.setFloat32(at, Number(value), true);
        break;
      case 'float64':
        view.setFloat64(at, Number(value), true);
        break;
      case 'uint64':
        view.setBigUint64(at, BigInt(value), true);
        break;
      case 'int64':
        view.setBigInt64(at, BigInt(value), true);
        break;
    }
  };
  const count = (value: number): void => number('uint64', BigInt(value));
  return {
    number,
    count,
    text(text: string): void {
      const encoded = encoder.encode(text);
      count(encoded.length);
      const at = grow(encoded.length);
      bytes.set(encoded, at);
    },
    padded(): Uint8Array {
      grow(paddingAfter(length));
      return bytes.subarray(0, length);
    },
  };
}
