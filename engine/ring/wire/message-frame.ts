import { type Frame, FrameError, type MessageFrame } from './frame.ts';
import type { Shape } from './json-shape.ts';
import type { HeadMessage, WorkerMessage } from './message.ts';

export function messageFrame(message: HeadMessage | WorkerMessage): MessageFrame {
  return { kind: 'message', payload: new TextEncoder().encode(JSON.stringify(message)) };
}

/** @throws FrameError for what is no message, or not of this shape */
export function readMessage<Message>(frame: Frame, shape: Shape<Message>): Message {
  if (frame.kind !== 'message') throw new FrameError(`a frame of kind ${frame.kind} where a message belongs`);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(frame.payload));
  } catch {
    throw new FrameError('a message that is no JSON');
  }
  return shape(value, 'message');
}
