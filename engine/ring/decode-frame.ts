import { FRAME_KINDS } from './encode-frame.ts';
import {
  ACTIVATION_FORMATS,
  type ActivationFrame,
  type Frame,
  FrameError,
  HEADER_BYTES,
  MAGIC,
  MOST_MESSAGE_BYTES,
  PROTOCOL_VERSION,
} from './frame.ts';

/** Longest context that any model here has; positions beyond are nonsense. */
const MOST_TOKENS = 2 ** 31;

/**
 * Reads a frame; its payload is a view of the bytes. Every number is checked for what it can mean by itself; whether it
 * fits model and plan is for whoever knows them (checkActivations).
 * @throws FrameError that says what was found and what is allowed
 */
export function decodeFrame(given: Uint8Array): Frame {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.length);
  if (bytes.length < HEADER_BYTES)
    throw new FrameError(`a frame of ${bytes.length} bytes; its header alone has ${HEADER_BYTES}`);
  if (bytes.readUInt32LE(0) !== MAGIC) throw new FrameError('a frame that does not begin with "HRTH"');
  const version = bytes.readUInt16LE(4);
  if (version !== PROTOCOL_VERSION)
    throw new FrameError(
      `version ${version} of the protocol; this Hearth speaks ${PROTOCOL_VERSION}, use the same on both`,
    );
  const kind = FRAME_KINDS[bytes.readUInt8(6)];
  if (kind === undefined)
    throw new FrameError(`a frame of kind ${bytes.readUInt8(6)}; there are ${FRAME_KINDS.length}`);
  const length = bytes.readUInt32LE(8);
  const payload = bytes.subarray(HEADER_BYTES);
  if (length !== payload.length) throw new FrameError(`a payload of ${payload.length} bytes that claims ${length}`);
  switch (kind) {
    case 'message':
      if (length > MOST_MESSAGE_BYTES)
        throw new FrameError(`a message of ${length} bytes; at most ${MOST_MESSAGE_BYTES} are allowed`);
      return { kind, payload };
    case 'probe':
    case 'echo':
      return { kind, tag: bytes.readUInt32LE(36), payload };
    case 'activations':
      return decodeActivations(bytes, payload);
  }
}

function decodeActivations(bytes: Buffer, payload: Uint8Array): ActivationFrame {
  const format = ACTIVATION_FORMATS[bytes.readUInt8(7)];
  if (format === undefined) throw new FrameError(`activations in format ${bytes.readUInt8(7)}; there are F32 and F16`);
  const [position, tokens, rows, capacity] = [24, 28, 32, 36].map((at) => bytes.readUInt32LE(at)) as [
    number,
    number,
    number,
    number,
  ];
  if (tokens < 1 || rows > 1 || capacity > MOST_TOKENS || position + tokens > capacity)
    throw new FrameError(`tokens ${position} to ${position + tokens - 1} of ${capacity}, ${rows} rows wanted`);
  const sentAt = bytes.readDoubleLE(40);
  if (!Number.isFinite(sentAt)) throw new FrameError('activations sent at no time');
  return {
    kind: 'activations',
    epoch: bytes.readUInt32LE(12),
    request: bytes.readUInt32LE(16),
    window: bytes.readUInt32LE(20),
    position,
    tokens,
    rows,
    capacity,
    format,
    sentAt,
    payload,
  };
}
