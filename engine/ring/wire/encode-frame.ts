import { ACTIVATION_FORMATS, type Frame, HEADER_BYTES, MAGIC, PROTOCOL_VERSION } from './frame.ts';

/** Numbers of the kinds in a header. */
export const FRAME_KINDS = ['message', 'activations', 'probe', 'echo'] as const satisfies Frame['kind'][];

/**
 * A frame as bytes, little endian: magic (4), version (2), kind (1), format (1), payload bytes (4), epoch, request, window,
 * position, tokens, rows (4 each), capacity or tag (4), sentAt (8), then the payload. The payload is copied, once.
 */
export function encodeFrame(frame: Frame): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + frame.payload.length).fill(0, 0, HEADER_BYTES);
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
      bytes.writeUInt32LE(frame.request, 16);
      bytes.writeUInt32LE(frame.window, 20);
      bytes.writeUInt32LE(frame.position, 24);
      bytes.writeUInt32LE(frame.tokens, 28);
      bytes.writeUInt32LE(frame.rows, 32);
      bytes.writeUInt32LE(frame.capacity, 36);
      bytes.writeDoubleLE(frame.sentAt, 40);
  }
  bytes.set(frame.payload, HEADER_BYTES);
  return bytes;
}
