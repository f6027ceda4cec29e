import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError, openAiError } from './api-error.ts';
import { PacedSocket } from './paced-socket.ts';

/** Limits for a server's connections. */
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
   * The client of a request may use the server: its connection counts toward the limit, and no longer as a stranger's.
   * @throws ApiError 429 if there are that many
   */
  admit(request: IncomingMessage): void;
  /** Answers input that isn't a request or came too late, and closes the connection. */
  refuse(error: Error & { readonly code?: string }, socket: Duplex): void;
}

/** Receives a request, and answers it. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

export const PATIENCE_SECONDS = 30;
/** Milliseconds between checks of the connections. */
const LOOK_MILLISECONDS = 1000;
/** Milliseconds for a connection between requests. */
export const IDLE_MILLISECONDS = 5000;

/** Requests of a connection that may wait for the answer before them; one with more is closed. */
export const MOST_WAITING = 8;

/**
 * Connections of clients that haven't shown a key, for each that may have: they are a quota of their own, and a new one
 * takes the place of the oldest, so that strangers can't keep clients with a key out.
 */
export const STRANGERS = 1 / 4;
export const LEAST_STRANGERS = 16;

interface Connection {
  readonly socket: PacedSocket;
  isStranger: boolean;
  /** The response that is being made. */
  current: ServerResponse<IncomingMessage> | undefined;
  /** Responses to requests that were sent before its end. */
  readonly waiting: ServerResponse<IncomingMessage>[];
}

/** Headers of every response: browsers don't guess its type, and pages of other origins can't use it. */
const HEADERS = { 'x-content-type-options': 'nosniff', 'cross-origin-resource-policy': 'same-origin' };

/**
 * A server of HTTP whose connections are bounded in what they take: one request is answered at a time, a connection
 * that is silent or reads nothing is closed, and so is the oldest of too many strangers.
 */
export function createConnections({ mostConnections, patience = PATIENCE_SECONDS }: ConnectionLimits): Connections {
  const mostStrangers = Math.max(LEAST_STRANGERS, Math.ceil(STRANGERS * mostConnections));
  const timeout = 1000 * patience;
  /** By the socket that requests and responses have, the oldest first. */
  const connections = new Map<Duplex, Connection>();
  let strangers = 0;

  const open = (bare: Socket): PacedSocket => {
    const socket = new PacedSocket(bare);
    const oldest = strangers < mostStrangers ? undefined : [...connections.values()].find((one) => one.isStranger);
    if (oldest !== undefined) {
      forget(oldest);
      oldest.socket.destroy();
    }
    const connection: Connection = { socket, isStranger: true, current: undefined, waiting: [] };
    // The body of the request that is being answered, but no request after it.
    socket.wanted = () =>
      connection.current === undefined ? 'head' : connection.current.req.complete ? undefined : 'body';
    connections.set(socket, connection);
    strangers++;
    socket.once('close', () => forget(connection));
    return socket;
  };
  const forget = ({ socket, isStranger }: Connection): void => {
    if (connections.delete(socket) && isStranger) strangers--;
  };
  const closeStalled = (): void => {
    const since = performance.now() - timeout;
    for (const { socket } of connections.values())
      if (socket.writableLength > 0 && socket.movedAt < since) socket.destroy();
  };
  return {
    serve(handle) {
      const answer = (connection: Connection, response: ServerResponse<IncomingMessage>): void => {
        connection.current = response;
        response.once('close', () => {
          connection.current = connection.waiting.shift();
          if (connection.current === undefined) connection.socket.handOn();
          else if (!connection.socket.destroyed) answer(connection, connection.current);
        });
        for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
        handle(response.req, response);
      };
      const timeouts = { headersTimeout: timeout, requestTimeout: timeout, keepAliveTimeout: IDLE_MILLISECONDS };
      const server = createServer({ ...timeouts, connectionsCheckingInterval: LOOK_MILLISECONDS });
      server.on('request', (request, response) => {
        const connection = connections.get(request.socket);
        if (connection === undefined) return;
        if (connection.current === undefined) answer(connection, response);
        else if (connection.waiting.length < MOST_WAITING) connection.waiting.push(response);
        else request.socket.destroy();
      });
      // The server's own listener takes any stream as a connection.
      const [attach] = server.listeners('connection');
      server.removeAllListeners('connection').on('connection', (socket) => attach?.call(server, open(socket)));
      const looks = setInterval(closeStalled, LOOK_MILLISECONDS).unref();
      return server.on('close', () => clearInterval(looks));
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
      // In the middle of an answer there is nothing to say.
      if (socket.writable && connections.get(socket)?.current?.headersSent !== true) {
        const [status, message] = BROKEN[code] ?? [400, 'this is not HTTP/1.1'];
        const body = JSON.stringify(openAiError(new ApiError(status, message)));
        const headers = {
          ...{ 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(body) },
          ...{ ...HEADERS, connection: 'close' },
        };
        const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
        socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
      }
      socket.end(() => void socket.destroy());
    },
  };
}

/** Status and message for requests that Node.js doesn't pass on, by its error's code. */
const BROKEN: Readonly<Record<string, readonly [status: number, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not come in time; send it at once'],
  HPE_HEADER_OVERFLOW: [431, 'the headers are too long; send at most 16 KiB'],
};
