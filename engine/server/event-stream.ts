import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { ServerEvent } from './answer-form.ts';

/** Seconds without an event after which a comment shows clients and proxies that the text is still under way. */
const COMMENT_SECONDS = 8;
const COMMENT = ':\n\n';

const EVENTS_TYPE = 'text/event-stream; charset=utf-8';
export const LINES_TYPE = 'application/x-ndjson';

/** The body of a response in events. */
export interface EventStream {
  /** Sends events; waits while the client reads more slowly. @throws AbortError once the signal fires */
  send(events: readonly ServerEvent[]): Promise<void>;
  end(): void;
}

export interface StreamOptions {
  /** Seconds between comments. */
  readonly commentSeconds?: number;
  /** Lines of JSON in place of events; they have no comments. */
  readonly isLines?: boolean;
}

/**
/**
 * Begins a response of server-sent events. Where nothing else is sent for a while, a comment is. Only its own text waits
 * for a slow client, whose connection is closed if it reads nothing (connections.ts).
 * @param signal fires when the connection is gone or the request is cancelled
 */
export function openEventStream(
  response: ServerResponse,
  signal: AbortSignal,
  { commentSeconds = COMMENT_SECONDS, isLines = false }: StreamOptions = {},
): EventStream {
  response.writeHead(200, {
    ...{ 'content-type': isLines ? LINES_TYPE : EVENTS_TYPE, 'cache-control': 'no-cache' },
    'x-accel-buffering': 'no', // nginx would collect events otherwise
  });
  response.flushHeaders();
  const comments = setInterval(() => {
    if (!isLines && !response.writableNeedDrain && !response.destroyed) response.write(COMMENT);
  }, 1000 * commentSeconds);
  signal.addEventListener('abort', () => clearInterval(comments), { once: true });
  return {
    async send(events) {
      signal.throwIfAborted();
      if (events.length === 0) return;
      comments.refresh();
      if (response.write(events.map((one) => eventText(one, isLines)).join(''))) return;
      await once(response, 'drain', { signal });
    },
    end() {
      clearInterval(comments);
      response.end();
    },
  };
}

/** An event as text (WHATWG HTML, server-sent events). JSON has no line breaks. */
export function eventText({ event, data }: ServerEvent, isLines = false): string {
  if (isLines) return `${JSON.stringify(data)}\n`;
  const name = event === undefined ? '' : `event: ${event}\n`;
  return `${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}
