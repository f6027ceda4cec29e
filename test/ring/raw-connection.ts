import { connect } from 'node:net';

/** A TCP connection to a listener, without libzmq. */
export interface RawConnection {
  write(bytes: Uint8Array): void;
  /** Resolves to the seconds until the other end closes the connection. */
  readonly closed: Promise<number>;
  close(): void;
  /** Ends the connection by a TCP reset. */
  reset(): void;
}

export function rawConnection(address: string): RawConnection {
  const { hostname, port } = new URL(address);
  const start = performance.now();
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {}).resume(); // a reset is a close
  return {
    write: (bytes) => socket.write(bytes),
    closed: new Promise((resolve) => socket.on('close', () => resolve((performance.now() - start) / 1000))),
    close: () => socket.destroy(),
    reset: () => socket.resetAndDestroy(),
  };
}

/** Greeting and READY of a DEALER on a plain link (ZMTP 3.0, RFC 23; NULL mechanism): all that libzmq requires. */
export function plainHandshake(name: string): Buffer {
  const greeting = Buffer.alloc(64);
  greeting.set([0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 3, 0]);
  greeting.write('NULL', 12);
  const ready = Buffer.concat([
    Buffer.from('\x05READY'),
    property('Socket-Type', 'DEALER'),
    property('Identity', name),
  ]);
  return Buffer.concat([greeting, Buffer.of(0x04, ready.length), ready]);
}

function property(name: string, value: string): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(value.length);
  return Buffer.concat([Buffer.of(name.length), Buffer.from(name), size, Buffer.from(value)]);
}

/** A whole message of at most 255 bytes: a flag, its length, and its bytes. */
export function shortMessage(bytes: Uint8Array | string): Buffer {
  const content = Buffer.from(bytes as string);
  return Buffer.concat([Buffer.of(0, content.length), content]);
}

/** The head of a long frame (ZMTP 3.0): a flag, and its length in eight bytes. */
export function frameOf(bytes: bigint): Buffer {
  const head = Buffer.alloc(9);
  head[0] = 0x02;
  head.writeBigUInt64BE(bytes, 1);
  return head;
}
