import type { MatrixShape } from '../matrix.ts';
import { shaderFormat } from './shaders/formats.ts';
import { gpuRowBytes, pieceOffsets, type ShaderFormat } from './shaders/shader-format.ts';

/** Rows of a matrix in a buffer of their own: a buffer that shaders read is limited in size. */
export interface MatrixPart {
  readonly buffer: GPUBuffer;
  readonly rowFrom: number;
  readonly rowCount: number;
}

export interface UploadedMatrix {
  /** Bytes of a row on the GPU. */
  readonly rowBytes: number;
  readonly parts: readonly MatrixPart[];
}

/** Bytes that are read from the file and sent at a time. */
const PIECE = 16 * 2 ** 20;

/** Rows of a part are whole groups of those that shaders compute together. */
const ROWS_TOGETHER = 4;

/** A matrix's rows in the file. */
export interface FileRows {
  readonly fileRowBytes: number;
  /** Bytes `from` up to `to` of the matrix's data. */
  readonly read: (from: number, to: number) => Uint8Array;
}

/**
 * Uploads a matrix in its own format, whose blocks may lie apart (ShaderFormat.pieces). Rows of unquantized weights are
 * padded with zeros to whole blocks of the shaders.
 */
export function uploadMatrix(device: GPUDevice, shape: MatrixShape, file: FileRows): UploadedMatrix {
  const room = matrixRoom(device, shape);
  for (const part of room.parts)
    for (const { at, data } of piecesOf(part, shape, room.rowBytes, file))
      device.queue.writeBuffer(part.buffer, at, data);
  // Lets the device free the memory through which the data went.
  device.queue.submit([]);
  return room;
}

/** The data of a matrix as shaders want it, by part of its room. */
export function arrangeMatrix(room: UploadedMatrix, shape: MatrixShape, file: FileRows): Uint8Array<ArrayBuffer>[] {
  return room.parts.map((part) => {
    const all = new Uint8Array(4 * Math.ceil((part.rowCount * room.rowBytes) / 4));
    for (const { at, data } of piecesOf(part, shape, room.rowBytes, file)) all.set(data, at);
    return all;
  });
}

/** Memory for a matrix, without its rows. */
export function matrixRoom(device: GPUDevice, { type, rows, columns }: MatrixShape): UploadedMatrix {
  const format = shaderFormat(type);
  const { table = new Int8Array() } = format;
  const rowBytes = gpuRowBytes(format, columns);
  const { maxStorageBufferBindingSize, maxBufferSize } = device.limits;
  // Shaders read whole words, up to one past the last byte.
  const others = 8 + table.byteLength;
  const rowsInBuffer = Math.floor((Math.min(maxStorageBufferBindingSize, maxBufferSize) - others) / rowBytes);
  const most = Math.max(1, rowsInBuffer - (rowsInBuffer % ROWS_TOGETHER));
  const parts: MatrixPart[] = [];
  for (let rowFrom = 0; rowFrom < rows; rowFrom += most) {
    const rowCount = Math.min(most, rows - rowFrom);
    const size = 4 * Math.ceil((rowCount * rowBytes) / 4) + 4 + table.byteLength;
    const buffer = device.createBuffer({ label: type, size, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST });
    device.queue.writeBuffer(buffer, size - table.byteLength, table);
    parts.push({ buffer, rowFrom, rowCount });
  }
  return { rowBytes, parts };
}

/** A part's rows, piece by piece, and where they lie in it. */
function* piecesOf(
  { rowFrom, rowCount }: MatrixPart,
  { type }: MatrixShape,
  rowBytes: number,
  { fileRowBytes, read }: FileRows,
): Generator<{ readonly at: number; readonly data: Uint8Array<ArrayBuffer> }> {
  const format = shaderFormat(type);
  const rowsAtOnce = piecedRows(rowBytes);
  for (let row = 0; row < rowCount; row += rowsAtOnce) {
    const count = Math.min(rowsAtOnce, rowCount - row);
    const from = (rowFrom + row) * fileRowBytes;
    const data = arranged(read(from, from + count * fileRowBytes), format, { count, fileRowBytes, rowBytes });
    yield { at: row * rowBytes, data };
  }
}

/** Rows of a piece: a multiple of four, so that every piece begins at a whole word. */
function piecedRows(rowBytes: number): number {
  return 4 * Math.max(1, Math.floor(PIECE / rowBytes / 4));
}

interface Rows {
  readonly count: number;
  readonly fileRowBytes: number;
  readonly rowBytes: number;
}

/** Rows as they lie on the GPU, in a whole number of words. */
function arranged(
  data: Uint8Array,
  { bytes, pieces }: ShaderFormat,
  { count, fileRowBytes, rowBytes }: Rows,
): Uint8Array<ArrayBuffer> {
  const size = 4 * Math.ceil((count * rowBytes) / 4);
  if (pieces === undefined && fileRowBytes === rowBytes && size === data.length) return data as Uint8Array<ArrayBuffer>;
  const result = new Uint8Array(size);
  if (pieces === undefined) {
    for (let row = 0; row < count; row++) {
      result.set(data.subarray(row * fileRowBytes, (row + 1) * fileRowBytes), row * rowBytes);
    }
    return result;
  }
  // Blocks of whole words of 16 bits take half as many steps.
  const halves = data.byteOffset % 2 === 0 && bytes % 2 === 0 && pieces.every((piece) => piece.bytes % 2 === 0);
  const unit = halves ? 2 : 1;
  const [from, to] = halves
    ? [new Uint16Array(data.buffer, data.byteOffset, data.length >> 1), new Uint16Array(result.buffer)]
    : [data, result];
  const blocks = fileRowBytes / bytes;
  const { begins } = pieceOffsets(pieces, blocks);
  for (let row = 0; row < count; row++) {
    pieces.forEach((piece, index) => {
      const source = (row * fileRowBytes + piece.from) / unit;
      const target = (row * rowBytes + (begins[index] as number)) / unit;
      copyPieces(from, source, { to, target, stride: bytes / unit, length: piece.bytes / unit, blocks });
    });
  }
  return result;
}

/** Copies a piece of each of a row's blocks, `stride` elements apart, to where they lie side by side. */
function copyPieces(
  from: Uint8Array | Uint16Array,
  source: number,
  {
    to,
    target,
    stride,
    length,
    blocks,
  }: {
    readonly to: Uint8Array | Uint16Array;
    readonly target: number;
    readonly stride: number;
    readonly length: number;
    readonly blocks: number;
  },
): void {
  let next = target;
  for (let block = 0; block < blocks; block++) {
    const first = source + block * stride;
    for (let i = 0; i < length; i++) to[next++] = from[first + i] as number;
  }
}
