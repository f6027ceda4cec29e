import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError, openAiError } from './api-error.ts';

/** What the server allows its connections. */
export interface ConnectionLimits {
  /** Connections whose clients have shown that they may use the server. */
  readonly mostConnections: number;
  /** Seconds without which a connection may be: a request, the rest of one, or movement of its output. Default: 30. */
  readonly patience?: number | undefined;
}

/** The connections of a server. */
export interface Connections {
  /** Makes the server. */
  serve(handle: RequestHandler): Server;
  /**
   * The client of a request may use the server: its connection counts toward the most, and is no stranger's any more.
   * @throws ApiError 429 if there are that many
   */
  admit(request: IncomingMessage): void;
  /** Answers what is no request, or didn't come in time, and closes the connection. */
  refuse(error: Error & { readonly code?: string }, socket: Socket): void;
}

/** Receives a request, and answers it. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

const PATIENCE_SECONDS = 30;
/** Milliseconds between looks at the connections. */
const LOOK_MILLISECONDS = 1000;
/** Milliseconds for a connection between requests. */
const IDLE_MILLISECONDS = 5000;

/** Requests of a connection that may wait for the answer before them; one with more is closed. */
const MOST_WAITING = 8;

/**
 * Connections of clients that haven't shown a key, for each that may have: they are a quota of their own, and a new one
 * takes the place of the oldest, so that strangers keep nobody out.
 */
const STRANGERS = 1 / 4;
const LEAST_STRANGERS = 16;

interface Connection {
  readonly socket: Socket;
  isStranger: boolean;
  /** Whether a request is being answered. */
  isBusy: boolean;
  /** Requests that were sent before the answer of the one that is being answered. */
  readonly waiting: (readonly [IncomingMessage, ServerResponse])[];
  /** Bytes that the system has taken over, and when they last changed while others waited. */
  taken: number;
  movedAt: number;
}

/** Headers of every response: no guesses at its type, and no use of it in pages of strangers. */
const HEADERS = { 'x-content-type-options': 'nosniff', 'cross-origin-resource-policy': 'same-origin' };

/**
 * A server of HTTP whose connections are bounded in what they take: one request is answered at a time, a connection
 * that is silent or reads nothing is closed, and so is the oldest of too many strangers.
 */
export function createConnections({ mostConnections, patience = PATIENCE_SECONDS }: ConnectionLimits): Connections {
  const mostStrangers = Math.max(LEAST_STRANGERS, Math.ceil(STRANGERS * mostConnections));
  const timeout = 1000 * patience;
  /** The oldest first. */
  const connections = new Map<Socket, Connection>();
  let strangers = 0;

  const open = (socket: Socket): void => {
    if (strangers === mostStrangers) [...connections.values()].find(({ isStranger }) => isStranger)?.socket.destroy();
    const connection: Connection = {
      ...{ socket, isStranger: true, isBusy: false, waiting: [] },
      ...{ taken: 0, movedAt: performance.now() },
    };
    connections.set(socket, connection);
    strangers++;
    socket.once('close', () => {
      connections.delete(socket);
      if (connection.isStranger) strangers--;
    });
  };
  const closeStalled = (): void => {
    const now = performance.now();
    for (const connection of connections.values()) {
      const { socket, taken, movedAt } = connection;
      const left = socket.writableLength;
      const takenNow = socket.bytesWritten - left;
      if (left === 0 || takenNow !== taken) Object.assign(connection, { taken: takenNow, movedAt: now });
      else if (now - movedAt >= timeout) socket.destroy();
    }
  };
  return {
    serve(handle) {
      const answer = (connection: Connection, request: IncomingMessage, response: ServerResponse): void => {
        connection.isBusy = true;
        response.once('close', () => {
          connection.isBusy = false;
          const next = connection.waiting.shift();
          if (next !== undefined && !connection.socket.destroyed) answer(connection, ...next);
        });
        for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
        handle(request, response);
      };
      const timeouts = { headersTimeout: timeout, requestTimeout: timeout, keepAliveTimeout: IDLE_MILLISECONDS };
      const server = createServer({ ...timeouts, connectionsCheckingInterval: LOOK_MILLISECONDS });
      server.on('request', (request, response) => {
        const connection = connections.get(request.socket);
        if (connection?.isBusy === false) answer(connection, request, response);
        else if (connection !== undefined && connection.waiting.length < MOST_WAITING)
          connection.waiting.push([request, response]);
        else request.socket.destroy();
      });
      const looks = setInterval(closeStalled, LOOK_MILLISECONDS).unref();
      return server.on('connection', open).on('close', () => clearInterval(looks));
    },
    admit({ socket }) {
      const connection = connections.get(socket);
      if (connection?.isStranger !== true) return;
      if (connections.size - strangers >= mostConnections) {
        const has = `the server has ${mostConnections} connections, as many as --max-connections allows`;
        throw new ApiError(429, `${has}; try again later`, null, 'busy');
      }
      connection.isStranger = false;
      strangers--;
    },
    refuse({ code = '' }, socket) {
      // In the middle of another answer there is nothing to say.
      if (socket.writable && connections.get(socket)?.isBusy === false) {
        const [status, message] = BROKEN[code] ?? [400, 'this is not HTTP/1.1'];
        const body = JSON.stringify(openAiError(new ApiError(status, message)));
        const headers = {
          ...{ 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(body) },
          ...{ ...HEADERS, connection: 'close' },
        };
        const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
        socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
      }
      socket.destroySoon();
    },
  };
}

/** Status and message for requests that Node.js doesn't pass on, by its error's code. */
const BROKEN: Readonly<Record<string, readonly [status: number, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not come in time; send it at once'],
  HPE_HEADER_OVERFLOW: [431, 'the headers are too long; send at most 16 KiB'],
};
