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
  if (given.length < HEADER_BYTES)
    throw new FrameError(`a frame of ${given.length} bytes; its header alone has ${HEADER_BYTES}`);
  const header = new DataView(given.buffer, given.byteOffset, HEADER_BYTES);
  if (header.getUint32(0, true) !== MAGIC) throw new FrameError('a frame that does not begin with "HRTH"');
  const version = header.getUint16(4, true);
  if (version !== PROTOCOL_VERSION)
    throw new FrameError(
      `version ${version} of the protocol; this Hearth speaks ${PROTOCOL_VERSION}, use the same on both`,
    );
  const kind = FRAME_KINDS[header.getUint8(6)];
  if (kind === undefined)
    throw new FrameError(`a frame of kind ${header.getUint8(6)}; there are ${FRAME_KINDS.length}`);
  const length = header.getUint32(8, true);
  const payload = given.subarray(HEADER_BYTES);
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
      return decodeActivations(header, payload);
  }
}

function decodeActivations(header: DataView, payload: Uint8Array): ActivationFrame {
  const format = ACTIVATION_FORMATS[header.getUint8(7)];
  if (format === undefined) throw new FrameError(`activations in format ${header.getUint8(7)}; there are F32 and F16`);
  const position = header.getUint32(24, true);
  const tokens = header.getUint32(28, true);
  const rows = header.getUint32(32, true);
  const capacity = header.getUint32(36, true);
  if (tokens < 1 || rows > 1 || capacity > MOST_TOKENS || position + tokens > capacity)
    throw new FrameError(`tokens ${position} to ${position + tokens - 1} of ${capacity}, ${rows} rows wanted`);
  const sentAt = header.getFloat64(40, true);
  if (!Number.isFinite(sentAt)) throw new FrameError('activations sent at no time');
  return {
    kind: 'activations',
    epoch: header.getUint32(12, true),
    request: header.getUint32(16, true),
    window: header.getUint32(20, true),
    position,
    tokens,
    rows,
    capacity,
    format,
    sentAt,
    payload,
  };
}
