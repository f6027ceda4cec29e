import { CHOICE_BYTES, FRAME_HEADER_BYTES, ROW_BYTES } from '../../experts/expert-traffic.ts';
import type { MultiplyOperation } from '../../kernels/operation.ts';
import type { Model } from '../../model/model.ts';
import { ACTIVATION_FORMATS, type ActivationFormat, activationBytes } from './activations.ts';
import { FrameError } from './frame-error.ts';

/** Increased with every change that older versions would misread. */
export const PROTOCOL_VERSION = 10;

/** "HRTH" as a little-endian number. */
const MAGIC = 0x48545248;

/** Bytes before a frame's segments, or rows, and payload. */
export const HEADER_BYTES = FRAME_HEADER_BYTES;
/** Bytes that describe a segment. */
const SEGMENT_BYTES = 24;
/** Bytes of a page's number. */
const PAGE_BYTES = 4;
/** Bytes of a copy. */
const COPY_BYTES = 12;
/** The most segments of a frame: requests whose tokens go through a window together. */
export const MOST_SEGMENTS = 256;
/** The most rows of a frame, and choices of a row: tokens that go through a layer together, and experts that each chooses. */
const MOST_ROWS = 65_536;
const MOST_CHOICES = 1000;
/** The most pages that the segments of a frame name, that it copies, and that a device numbers. */
export const MOST_PAGES = 2 ** 18;

/** Largest message in bytes: room for 10,000 spans of 200 bytes. The limit of activations follows from the model. */
export const MOST_MESSAGE_BYTES = 2 ** 22;

/** Consecutive tokens of one request. */
export interface FrameSegment {
  readonly request: number;
  /** Position of the first token in the request; tokens from there on that its pages hold are forgotten. */
  readonly position: number;
  /** At least one. */
  readonly tokens: number;
  /** The number of last tokens for which logits are wanted, 0 to `tokens`. */
  readonly rows: number;
  /**
   * The pages of keys and values that the request's tokens are in, these included, by their numbers on every device.
   * Full pages may be those of other requests that begin alike.
   */
  readonly pages: readonly number[];
  /** How its tokens are multiplied with weights, see MultiplyOperation; those that are multiplied singly come first. */
  readonly multiplied: MultiplyOperation['multiplied'];
}

/** A page that gets the first tokens of another: texts that part within a page. */
export interface PageCopy {
  readonly from: number;
  readonly to: number;
  /** Tokens of `from` whose keys and values `to` has then, at least one. */
  readonly tokens: number;
}

/** The residual stream of tokens of one or several requests, sent to the next window. */
export interface ActivationFrame {
  readonly kind: 'activations';
  /** Identifies the assembly of the ring to which the frame belongs. */
  readonly epoch: number;
  /** Its number in its assembly, from 0 on: every window gets all frames, one after the other. */
  readonly number: number;
  /**
   * Index of the next window in the order in which a token visits them; the number of windows stands for the output.
   */
  readonly window: number;
  /** Carried out by every window one after the other, before its tokens are evaluated. */
  readonly copies: readonly PageCopy[];
  /** Each of another request, 1 to MOST_SEGMENTS. */
  readonly segments: readonly FrameSegment[];
  /** Whether another frame of the same pass follows, which needs the weights of the same windows. */
  readonly isFollowed: boolean;
  readonly format: ActivationFormat;
  /** Time of sending, seconds on the sender's clock. */
  readonly sentAt: number;
  /** [tokens of all segments][hidden]; after the last window [rows of all segments][hidden]. */
  readonly payload: Uint8Array;
}

/** Tokens of a frame. */
export function frameTokens({ segments }: Pick<ActivationFrame, 'segments'>): number {
  return segments.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Tokens of a frame whose logits are wanted. */
export function frameRows({ segments }: Pick<ActivationFrame, 'segments'>): number {
  return segments.reduce((sum, { rows }) => sum + rows, 0);
}

/** A message (message.ts) as JSON. */
export interface MessageFrame {
  readonly kind: 'message';
  readonly payload: Uint8Array;
}

/** A probe of a link, or its echo: the receiver answers a `probe` with an empty `echo` of the same tag. */
export interface ProbeFrame {
  readonly kind: 'probe' | 'echo';
  readonly tag: number;
  readonly payload: Uint8Array;
}

/** An expert that a token chose, and the weight of its result. */
export interface ExpertChoice {
  readonly expert: number;
  readonly weight: number;
}

/** The fields of a request to multiply experts of a layer, and of sums of a layer's results. */
interface LayerFrame {
  /** Identifies the assembly of the ring to which the frame belongs. */
  readonly epoch: number;
  /** The number of the request in its assembly, from 0 on at each device; of sums of cut layers, of those that go from one device to another. */
  readonly number: number;
  readonly layer: number;
  readonly format: ActivationFormat;
  /** Time of sending, seconds on the sender's clock. */
  readonly sentAt: number;
  /** [rows][hidden] */
  readonly payload: Uint8Array;
}

/** Normalised hidden states of tokens that chose experts of a device, sent by the head. */
export interface ExpertsFrame extends LayerFrame {
  readonly kind: 'experts';
  /** By token the experts of the device that it chose, at least one. */
  readonly rows: readonly (readonly ExpertChoice[])[];
}

/**
 * The weighted sum of the device's experts for each of these tokens; where tensors are cut, what a device's slice of a layer adds
 * to the residual stream, or what all do.
 */
export interface SumsFrame extends LayerFrame {
  readonly kind: 'sums';
  readonly rows: number;
}

export type Frame = ActivationFrame | ExpertsFrame | SumsFrame | MessageFrame | ProbeFrame;

/** The kinds of frames, by their number in a header. */
const FRAME_KINDS = ['message', 'activations', 'probe', 'echo', 'experts', 'sums'] as const satisfies Frame['kind'][];

/** Ways of multiplying, by their number in a segment. */
const MULTIPLIED = [undefined, 'singly', 'together'] as const satisfies MultiplyOperation['multiplied'][];

/** The longest frame, bytes: a message, or the activations of this many tokens, also with the experts that each chooses. */
export function mostFrameBytes({ hiddenSize, layer }: Pick<Model, 'hiddenSize' | 'layer'>, tokens: number): number {
  const pages = MOST_PAGES * (PAGE_BYTES + COPY_BYTES);
  const choices = Math.max(0, ...layer.routed.map(({ used }) => used));
  const described = Math.max(MOST_SEGMENTS * SEGMENT_BYTES + pages, tokens * (ROW_BYTES + choices * CHOICE_BYTES));
  return HEADER_BYTES + Math.max(MOST_MESSAGE_BYTES, described + activationBytes(tokens * hiddenSize, 'F32'));
}

/**
 * Bytes of a part of a message on a link. Heartbeats go between parts, and each that arrives shows that its sender lives:
 * a link of 0.25 Mbit/s takes 2 s for one, less than a peer may be silent (HEARTBEAT_TIMEOUT in transport.ts).
 */
export const PART_BYTES = 2 ** 16;

/** The longest part that is accepted: encryption adds 33 bytes (CurveZMQ, ZeroMQ RFC 26). */
export const MOST_PART_BYTES = PART_BYTES + 33;

/** The parts in which an encoded frame is sent; views of it. */
export function partsOf(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let from = 0; from < bytes.length; from += PART_BYTES) parts.push(bytes.subarray(from, from + PART_BYTES));
  return parts;
}

/** A frame from the parts of a message. @param most the longest frame, bytes @throws FrameError as decodeFrame does */
export function joinedFrame(parts: readonly Buffer[], most: number): Frame {
  const [first] = parts;
  if (first === undefined) throw new FrameError('a message without parts');
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  if (length > most) throw new FrameError(`a frame of ${length} bytes; at most ${most} are allowed`);
  return decodeFrame(parts.length === 1 ? first : Buffer.concat(parts));
}

/**
 * Encodes a frame, little endian: magic (4 bytes), version (2), kind (1), format (1), payload length (4), epoch (4),
 * window (4), number of segments (4), whether another frame follows (1), nothing (3), number of copies (4), the frame's
 * number (4), tag (4), sentAt (8); by segment request, position, tokens, rows, number of pages and way of multiplying (4 each); the
 * pages of all segments (4 each); by copy from, to and tokens (4 each); payload. The payload is copied once.
 *
 * Frames of experts have the layer in place of the window, and rows in place of segments: how many experts each chose (4
 * each), then all choices, the expert (4) and its weight (4).
 */
export function encodeFrame(frame: Frame): Buffer {
  const start = HEADER_BYTES + bytesBeforePayload(frame);
  const bytes = Buffer.allocUnsafe(start + frame.payload.length).fill(0, 0, HEADER_BYTES);
  bytes.writeUInt32LE(MAGIC, 0);
  bytes.writeUInt16LE(PROTOCOL_VERSION, 4);
  bytes.writeUInt8(FRAME_KINDS.indexOf(frame.kind), 6);
  bytes.writeUInt32LE(frame.payload.length, 8);
  switch (frame.kind) {
    case 'message':
      break;
    case 'probe':
    case 'echo':
      bytes.writeUInt32LE(frame.tag, 36);
      break;
    case 'activations':
      bytes.writeUInt8(ACTIVATION_FORMATS.indexOf(frame.format), 7);
      bytes.writeUInt32LE(frame.epoch, 12);
      bytes.writeUInt32LE(frame.window, 16);
      bytes.writeUInt32LE(frame.segments.length, 20);
      bytes.writeUInt8(frame.isFollowed ? 1 : 0, 24);
      bytes.writeUInt32LE(frame.copies.length, 28);
      bytes.writeUInt32LE(frame.number, 32);
      bytes.writeDoubleLE(frame.sentAt, 40);
      for (const [index, value] of describedNumbers(frame).entries())
        bytes.writeUInt32LE(value, HEADER_BYTES + 4 * index);
      break;
    case 'experts':
    case 'sums':
      bytes.writeUInt8(ACTIVATION_FORMATS.indexOf(frame.format), 7);
      bytes.writeUInt32LE(frame.epoch, 12);
      bytes.writeUInt32LE(frame.layer, 16);
      bytes.writeUInt32LE(frame.kind === 'sums' ? frame.rows : frame.rows.length, 20);
      bytes.writeUInt32LE(frame.number, 32);
      bytes.writeDoubleLE(frame.sentAt, 40);
      if (frame.kind === 'experts') writeRows(frame, bytes);
  }
  bytes.set(frame.payload, start);
  return bytes;
}

function bytesBeforePayload(frame: Frame): number {
  switch (frame.kind) {
    case 'activations':
      return describedBytes(frame);
    case 'experts':
      return rowsBytes(frame);
    default:
      return 0;
  }
}

function rowsBytes({ rows }: Pick<ExpertsFrame, 'rows'>): number {
  return rows.reduce((sum, choices) => sum + ROW_BYTES + choices.length * CHOICE_BYTES, 0);
}

function writeRows({ rows }: ExpertsFrame, bytes: Buffer): void {
  let at = HEADER_BYTES;
  for (const { length } of rows) at = bytes.writeUInt32LE(length, at);
  for (const { expert, weight } of rows.flat()) at = bytes.writeFloatLE(weight, bytes.writeUInt32LE(expert, at));
}

/** Fields of a frame that precede its payload. */
type Described = Pick<ActivationFrame, 'segments' | 'copies'>;

function describedBytes({ segments, copies }: Described): number {
  const bytes = segments.reduce((sum, { pages }) => sum + SEGMENT_BYTES + pages.length * PAGE_BYTES, 0);
  return bytes + copies.length * COPY_BYTES;
}

function describedNumbers({ segments, copies }: Described): number[] {
  const fields = segments.flatMap(({ request, position, tokens, rows, pages, multiplied }) => {
    return [request, position, tokens, rows, pages.length, MULTIPLIED.indexOf(multiplied)];
  });
  const copied = copies.flatMap(({ from, to, tokens }) => [from, to, tokens]);
  return [...fields, ...segments.flatMap(({ pages }) => pages), ...copied];
}

/** An upper bound of contexts, tokens. */
const MOST_TOKENS = 2 ** 31;

/**
 * Decodes a frame; its payload is a view of `given`. Each number is checked on its own; the receiver checks whether
 * activations fit the model and the plan (device/window-runner.ts).
 * @throws FrameError with what was found and what is allowed
 */
export function decodeFrame(given: Uint8Array): Frame {
  if (given.length < HEADER_BYTES)
    throw new FrameError(`a frame of ${given.length} bytes; its header alone has ${HEADER_BYTES}`);
  const header = new DataView(given.buffer, given.byteOffset, given.length);
  if (header.getUint32(0, true) !== MAGIC) throw new FrameError('a frame that does not begin with "HRTH"');
  const version = header.getUint16(4, true);
  if (version !== PROTOCOL_VERSION)
    throw new FrameError(
      `version ${version} of the protocol; this Hearth speaks ${PROTOCOL_VERSION}, use the same on both`,
    );
  const kind = FRAME_KINDS[header.getUint8(6)];
  if (kind === undefined)
    throw new FrameError(`a frame of kind ${header.getUint8(6)}; there are ${FRAME_KINDS.length} kinds`);
  const length = header.getUint32(8, true);
  const described = kind === 'activations' ? decodeDescribed(header) : { segments: [], copies: [] };
  const rows = kind === 'experts' ? decodeRows(header) : [];
  const payload = given.subarray(HEADER_BYTES + describedBytes(described) + rowsBytes({ rows }));
  if (length !== payload.length) throw new FrameError(`a payload of ${payload.length} bytes that claims ${length}`);
  switch (kind) {
    case 'message':
      if (length > MOST_MESSAGE_BYTES)
        throw new FrameError(`a message of ${length} bytes; at most ${MOST_MESSAGE_BYTES} are allowed`);
      return { kind, payload };
    case 'probe':
    case 'echo':
      return { kind, tag: header.getUint32(36, true), payload };
    case 'activations':
      return decodeActivations(header, described, payload);
    case 'experts':
      return { kind, ...decodeLayer(header), rows, payload };
    case 'sums': {
      const count = header.getUint32(20, true);
      if (count < 1 || count > MOST_ROWS) throw new FrameError(`sums of ${count} rows; 1 to ${MOST_ROWS} are allowed`);
      return { kind, ...decodeLayer(header), rows: count, payload };
    }
  }
}

function decodeLayer(header: DataView): Pick<LayerFrame, 'epoch' | 'number' | 'layer' | 'format' | 'sentAt'> {
  const [epoch, layer, number] = [header.getUint32(12, true), header.getUint32(16, true), header.getUint32(32, true)];
  return { epoch, number, layer, ...decodeSending(header) };
}

function decodeRows(header: DataView): ExpertChoice[][] {
  const count = header.getUint32(20, true);
  const most = Math.min(MOST_ROWS, Math.floor((header.byteLength - HEADER_BYTES) / (ROW_BYTES + CHOICE_BYTES)));
  if (count < 1 || count > most)
    throw new FrameError(`${count} rows for experts; a frame of its length has 1 to ${most}`);
  let at = HEADER_BYTES + count * ROW_BYTES;
  return Array.from({ length: count }, (_, row) => {
    const length = header.getUint32(HEADER_BYTES + row * ROW_BYTES, true);
    const room = Math.min(MOST_CHOICES, Math.floor((header.byteLength - at) / CHOICE_BYTES));
    if (length < 1 || length > room)
      throw new FrameError(`${length} experts of a row; the rest of its frame has 1 to ${room}`);
    const choices = Array.from({ length }, (_, choice): ExpertChoice => {
      const from = at + choice * CHOICE_BYTES;
      return { expert: header.getUint32(from, true), weight: header.getFloat32(from + 4, true) };
    });
    if (choices.some(({ weight }) => !Number.isFinite(weight))) throw new FrameError('a weight that is no number');
    if (new Set(choices.map(({ expert }) => expert)).size < length) throw new FrameError('an expert twice in one row');
    at += length * CHOICE_BYTES;
    return choices;
  });
}

function decodeDescribed(header: DataView): Described {
  const segments = decodeSegments(header);
  const start = HEADER_BYTES + describedBytes({ segments, copies: [] });
  const count = header.getUint32(28, true);
  const most = Math.min(MOST_PAGES, Math.floor((header.byteLength - start) / COPY_BYTES));
  if (count > most) throw new FrameError(`${count} copies of pages; a frame of its length has at most ${most}`);
  const copies = Array.from({ length: count }, (_, index): PageCopy => {
    const field = (place: number): number => header.getUint32(start + index * COPY_BYTES + 4 * place, true);
    const [from, to, tokens] = [field(0), field(1), field(2)];
    if (from === to) throw new FrameError(`a copy of page ${from} to itself`);
    if (tokens < 1) throw new FrameError(`a copy of ${tokens} tokens of page ${from}; at least 1 is allowed`);
    return { from, to, tokens };
  });
  return { segments, copies };
}

function decodeSegments(header: DataView): FrameSegment[] {
  const count = header.getUint32(20, true);
  const room = Math.floor((header.byteLength - HEADER_BYTES) / SEGMENT_BYTES);
  if (count < 1 || count > Math.min(MOST_SEGMENTS, room))
    throw new FrameError(`${count} segments; a frame of its length has 1 to ${Math.min(MOST_SEGMENTS, room)}`);
  let at = HEADER_BYTES + count * SEGMENT_BYTES;
  let named = 0;
  const segments = Array.from({ length: count }, (_, index): FrameSegment => {
    const field = (place: number): number => header.getUint32(HEADER_BYTES + index * SEGMENT_BYTES + 4 * place, true);
    const [request, position, tokens, rows, pageCount] = [field(0), field(1), field(2), field(3), field(4)];
    if (tokens < 1 || rows > tokens || position + tokens > MOST_TOKENS)
      throw new FrameError(`tokens ${position} to ${position + tokens - 1}, ${rows} rows wanted`);
    if (field(5) >= MULTIPLIED.length) throw new FrameError(`way ${field(5)} of multiplying; there are 0, 1 and 2`);
    const most = Math.min(MOST_PAGES - named, Math.floor((header.byteLength - at) / PAGE_BYTES));
    if (pageCount < 1 || pageCount > most)
      throw new FrameError(`${pageCount} pages of a segment; the rest of its frame has 1 to ${most}`);
    const pages = Array.from({ length: pageCount }, (_, page) => header.getUint32(at + PAGE_BYTES * page, true));
    if (new Set(pages).size < pageCount) throw new FrameError('a page twice in one segment');
    named += pageCount;
    at += pageCount * PAGE_BYTES;
    return { request, position, tokens, rows, pages, multiplied: MULTIPLIED[field(5)] };
  });
  if (new Set(segments.map(({ request }) => request)).size < count)
    throw new FrameError('a request twice in one frame');
  return segments;
}

function decodeSending(header: DataView): Pick<ActivationFrame, 'format' | 'sentAt'> {
  const format = ACTIVATION_FORMATS[header.getUint8(7)];
  if (format === undefined)
    throw new FrameError(`activations in format ${header.getUint8(7)}; the formats are F32 and F16`);
  const sentAt = header.getFloat64(40, true);
  if (!Number.isFinite(sentAt)) throw new FrameError('activations without a valid time of sending');
  return { format, sentAt };
}

function decodeActivations(header: DataView, described: Described, payload: Uint8Array): ActivationFrame {
  const [epoch, window, number] = [header.getUint32(12, true), header.getUint32(16, true), header.getUint32(32, true)];
  const isFollowed = header.getUint8(24) !== 0;
  return { kind: 'activations', epoch, number, window, ...described, isFollowed, ...decodeSending(header), payload };
}
