import type { UnitShader } from './unit-formats.ts';

/**
 * How shaders read a format. x = step·q − shift, with one step and shift for each group of `width` values; the formats
 * themselves are described in engine/gguf/formats.
 */
export interface ShaderFormat {
  /** Values of a block as shaders see it; unquantized formats are read 32 values at a time. */
  readonly block: number;
  /** Bytes of a block. */
  readonly bytes: number;
  /**
   * Pieces of a block of the file that lie apart on the GPU: a row has the first piece of all its blocks, then the next
   * one of all; each begins at a multiple of 16 bytes. Default: blocks as they are in the file.
   */
  readonly pieces?: readonly BlockPiece[];
  /** Values that share a step and a shift. */
  readonly width: 16 | 32;
  /** Whether there is a shift. */
  readonly shifted: boolean;
  /**
   * WGSL: `fn steps(row: u32, block: u32, group: u32) -> vec2f`, step and shift of a group of a block, and
   * `fn quants(row: u32, block: u32, i: u32) -> vec4f`, q of the block's values i to i + 3, where i is a multiple of 4.
   * `row` is the byte at which the row begins, `block` counts blocks from there.
   */
  readonly code: string;
  /** Bytes that follow a matrix in its buffer, as its last whole words. */
  readonly table?: Int8Array<ArrayBuffer>;
  /** How products of a few tokens read it 16 bytes at a time; without it they read words. */
  readonly unit?: UnitShader;
}

/** Bytes `from` up to `from` + `bytes` of a block. */
export interface BlockPiece {
  readonly from: number;
  readonly bytes: number;
}

/** Bytes of a row of `columns` values on the GPU. */
export function gpuRowBytes({ block, bytes, pieces }: ShaderFormat, columns: number): number {
  const blocks = Math.ceil(columns / block);
  return pieces === undefined ? blocks * bytes : pieceOffsets(pieces, blocks).end;
}

/** Offset of each piece in a row of `blocks` blocks, and the end of the row. */
export function pieceOffsets(pieces: readonly BlockPiece[], blocks: number): { begins: number[]; end: number } {
  const begins: number[] = [];
  let end = 0;
  for (const { bytes } of pieces) {
    begins.push(end);
    end = 16 * Math.ceil((end + blocks * bytes) / 16);
  }
  return { begins, end };
}
