/**
 * How shaders read a format. x = step·q − shift, with one step and shift for each group of `width` values; the formats
 * themselves are described in engine/gguf/formats.
 */
export interface ShaderFormat {
  /** Values of a block as shaders see it; unquantized formats are read 32 values at a time. */
  readonly block: number;
  /** Bytes of a block. */
  readonly bytes: number;
  /** Values that share a step and a shift. */
  readonly width: 16 | 32;
  /** Whether there is a shift. */
  readonly shifted: boolean;
  /**
   * WGSL: `fn steps(block: u32, group: u32) -> vec2f`, step and shift of a group, and
   * `fn quants(block: u32, i: u32) -> vec4f`, q of the values i to i + 3, where i is a multiple of 4. `block` is the
   * byte at which the block begins.
   */
  readonly code: string;
  /** Bytes that follow a matrix in its buffer, as its last whole words. */
  readonly table?: Int8Array<ArrayBuffer>;
}
