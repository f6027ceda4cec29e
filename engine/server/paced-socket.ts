import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/**
 * Bytes of input that are handed on at once. A packet may have thousands of requests, for each of which Node.js makes
 * objects before anybody can object; a body is one thing however long it is.
 */
const PIECE_BYTES = { head: 2 ** 9, body: 2 ** 13 };
/** Bytes of output after whose sending the output has moved. */
const OUTPUT_BYTES = 2 ** 14;

const NOTHING = Buffer.alloc(0);

type Callback = (error?: Error | null) => void;

/** A connection whose input is handed on in small pieces, while it is wanted, and whose output tells when it moves. */
export class PacedSocket extends Duplex {
  /** When the system last took some of the output, or there was none: milliseconds of the process's clock. */
  movedAt = performance.now();
  /** Part of a request for which more input is wanted. */
  wanted: () => keyof typeof PIECE_BYTES | undefined = () => 'head';
  #input: Buffer = NOTHING;
  #isRead = false;
  #hasEnded = false;

  constructor(readonly socket: Socket) {
    super({ allowHalfOpen: true });
    socket
      .on('data', (bytes: Buffer) => {
        this.#input = this.#input.length === 0 ? bytes : Buffer.concat([this.#input, bytes]);
        this.handOn();
      })
      .on('end', () => {
        this.#hasEnded = true;
        this.handOn();
      })
      .on('timeout', () => this.emit('timeout'))
      .on('error', (error) => this.destroy(error))
      .on('close', () => this.destroy());
  }

  /** Hands on what input has come, as far as it is wanted. */
  handOn(): void {
    while (this.#isRead && this.#input.length > 0 && !this.destroyed) {
      const wanted = this.wanted();
      if (wanted === undefined) break;
      const piece = this.#input.subarray(0, PIECE_BYTES[wanted]);
      this.#input = this.#input.subarray(piece.length);
      this.#isRead = this.push(piece);
    }
    if (this.#input.length > 0) this.socket.pause();
    else if (this.#hasEnded) this.push(null);
    else this.socket.resume();
  }

  override _read(): void {
    this.#isRead = true;
    this.handOn();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: Callback): void {
    this._writev([{ chunk: bytes }], done);
  }

  override _writev(parts: readonly { readonly chunk: Buffer }[], done: Callback): void {
    this.movedAt = performance.now();
    const pieces = parts.flatMap(({ chunk }) => piecesOf(chunk));
    const next: Callback = (error) => {
      this.movedAt = performance.now();
      if (error != null || pieces.length === 0) {
        done(error);
        return;
      }
      this.socket.cork();
      for (let bytes = 0; bytes < OUTPUT_BYTES && pieces.length > 0; ) {
        const piece = pieces.shift() as Buffer;
        bytes += piece.length;
        this.socket.write(piece, bytes < OUTPUT_BYTES && pieces.length > 0 ? undefined : next);
      }
      this.socket.uncork();
    };
    next();
  }

  override _final(done: () => void): void {
    this.socket.end(done);
  }

  override _destroy(error: Error | null, done: Callback): void {
    this.#input = NOTHING;
    this.socket.destroy();
    done(error);
  }

  /** As that of a socket: closes the connection when all output is sent. */
  destroySoon(): void {
    this.end(() => this.destroy());
  }

  /** As that of a socket; the HTTP server closes unused connections by it. */
  setTimeout(milliseconds: number, onTimeout?: () => void): this {
    this.socket.setTimeout(milliseconds);
    if (onTimeout !== undefined) this.once('timeout', onTimeout);
    return this;
  }
}

function piecesOf(bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let from = 0; from < bytes.length; from += OUTPUT_BYTES) pieces.push(bytes.subarray(from, from + OUTPUT_BYTES));
  return pieces;
}
