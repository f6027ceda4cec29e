/** Writes headers field by field, without checks, for tests of the reader. */
export function ggufBytes() {
  const bytes: number[] = [];
  const number = (value: bigint, count: number): void => {
    for (let byte = 0; byte < count; byte++) bytes.push(Number((value >> BigInt(8 * byte)) & 255n));
  };
  const writer = {
    u8: (value: number) => add(value, 1),
    u32: (value: number) => add(value, 4),
    u64: (value: number | bigint) => add(value, 8),
    f32(value: number) {
      bytes.push(...new Uint8Array(Float32Array.of(value).buffer));
      return writer;
    },
    text(text: string) {
      const encoded = new TextEncoder().encode(text);
      writer.u64(encoded.length);
      bytes.push(...encoded);
      return writer;
    },
    raw(...more: readonly number[]) {
      bytes.push(...more);
      return writer;
    },
    /** Magic, version, and the numbers of tensors and metadata entries. */
    start: (tensors: number | bigint, entries: number | bigint, version = 3) =>
      writer.raw(0x47, 0x47, 0x55, 0x46).u32(version).u64(tensors).u64(entries),
    tensor(name: string, shape: readonly (number | bigint)[], type: number, offset: number | bigint) {
      writer.text(name).u32(shape.length);
      for (const length of shape) writer.u64(length);
      return writer.u32(type).u64(offset);
    },
    /** Zeros up to a multiple of the alignment, and then the data. */
    data(count: number, alignment = 32) {
      while (bytes.length % alignment !== 0) bytes.push(0);
      return writer.raw(...new Array<number>(count).fill(0));
    },
    done: () => Uint8Array.from(bytes),
  };
  const add = (value: number | bigint, count: number) => {
    number(BigInt.asUintN(64, BigInt(value)), count);
    return writer;
  };
  return writer;
}
