import { floatToHalf, halfToFloat } from '../../gguf/formats/half.ts';

export const ACTIVATION_FORMATS = ['F32', 'F16'] as const;
/** The format of the residual stream on links. F32 is exact; F16 halves the bytes and rounds to 11 bits. */
export type ActivationFormat = (typeof ACTIVATION_FORMATS)[number];

const BYTES: Readonly<Record<ActivationFormat, number>> = { F32: 4, F16: 2 };

/** Bytes of `values` activations in a format. */
export function activationBytes(values: number, format: ActivationFormat): number {
  return values * BYTES[format];
}

/** Encodes activations; in F32 the result is a view of the same memory. */
export function packActivations(values: Float32Array, format: ActivationFormat): Uint8Array {
  if (format === 'F32') return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const halves = new Uint16Array(values.length);
  for (let index = 0; index < values.length; index++) halves[index] = floatToHalf(values[index] as number);
  return new Uint8Array(halves.buffer);
}

/** Decodes activations into `values`. @param bytes as many as `values` needs */
export function unpackActivations(bytes: Uint8Array, format: ActivationFormat, values: Float32Array): void {
  if (format === 'F32') {
    new Uint8Array(values.buffer, values.byteOffset, values.byteLength).set(bytes);
    return;
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let index = 0; index < values.length; index++) values[index] = halfToFloat(view.getUint16(2 * index, true));
}
