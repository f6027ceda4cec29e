import { connect } from '../../engine/ring/wire/connection.ts';
import type { Frame } from '../../engine/ring/wire/frame.ts';
import { type ListenerOptions, listen } from '../../engine/ring/wire/listener.ts';
import { createTransport, type Transport } from '../../engine/ring/wire/transport.ts';

/** Seconds that a test waits for what takes milliseconds on an idle machine. */
export const SOON = 10;

/** Sockets of one test on 127.0.0.1, on plain links, which `close` closes together. */
export interface Loopback {
  readonly transport: Transport;
  /** Lines that the transport has logged. */
  readonly log: readonly string[];
  /** Opens a listener that admits every peer, and keeps what it hears unless `options` say otherwise. */
  listen(options?: Partial<ListenerOptions>): Promise<HeardListener>;
  /** Connects to a listener. @param name 32 hexadecimal digits */
  connect(address: string, name: string): TestPeer;
  close(): void;
}

export interface HeardListener {
  readonly address: string;
  send(peer: string, frame: Frame): Promise<void>;
  close(): void;
  /** Each frame as `peer: text`. */
  readonly heard: readonly string[];
  /** Each expelled peer as `peer: reason`. */
  readonly expelled: readonly string[];
}

export interface TestPeer {
  send(frame: Frame): Promise<void>;
  close(): void;
  readonly heard: readonly string[];
  /** `ready` when the connection is established, and the reason when it ends. */
  readonly events: readonly string[];
}

/** A message with a text that no parser reads. */
export function message(text: string): Frame {
  return { kind: 'message', payload: Buffer.from(text) };
}

export function openLoopback(): Loopback {
  const log: string[] = [];
  const transport = createTransport(undefined, (line) => log.push(line));
  const open: { close(): void }[] = [];
  const textOf = ({ payload }: Frame): string => Buffer.from(payload).toString();
  return {
    transport,
    log,
    async listen(options = {}) {
      const [heard, expelled]: [string[], string[]] = [[], []];
      const listener = await listen({
        transport,
        address: 'tcp://127.0.0.1:*',
        domain: 'test',
        admits: () => undefined,
        mostBytes: 2 ** 20,
        onFrame: (peer, frame) => heard.push(`${peer}: ${textOf(frame)}`),
        belongs: () => true,
        onExpelled: (peer, reason) => expelled.push(`${peer}: ${reason}`),
        ...options,
      });
      open.push(listener);
      return { ...listener, heard, expelled };
    },
    connect(address, name) {
      const [heard, events]: [string[], string[]] = [[], []];
      const connection = connect({
        transport,
        address,
        publicKey: undefined,
        name,
        mostBytes: 2 ** 20,
        onReady: () => events.push('ready'),
        onFrame: (frame) => heard.push(frame.kind === 'message' ? textOf(frame) : frame.kind),
        onGone: (reason) => events.push(reason),
      });
      open.push(connection);
      return { send: connection.send, close: connection.close, heard, events };
    },
    close() {
      for (const one of open) one.close();
      transport.close();
    },
  };
}
