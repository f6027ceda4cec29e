import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { ServerEvent } from './answer-form.ts';

/** The body of a response in events. */
export interface EventStream {
  /** Sends events; waits while the client reads more slowly. @throws AbortError once the signal fires */
  send(events: readonly ServerEvent[]): Promise<void>;
  end(): void;
}

/**
 * Begins a response of server-sent events. Only its own text waits for a slow client, whose connection is closed if it
 * reads nothing (connections.ts).
 * @param signal fires when the connection is gone or the request is cancelled
 */
export function openEventStream(response: ServerResponse, signal: AbortSignal): EventStream {
  response.writeHead(200, {
    ...{ 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' },
    'x-accel-buffering': 'no', // nginx would collect events otherwise
  });
  response.flushHeaders();
  return {
    async send(events) {
      signal.throwIfAborted();
      if (events.length === 0) return;
      if (response.write(events.map(eventText).join(''))) return;
      await once(response, 'drain', { signal });
    },
    end: () => void response.end(),
  };
}

/** An event as text (WHATWG HTML, server-sent events). JSON has no line breaks. */
export function eventText({ event, data }: ServerEvent): string {
  const name = event === undefined ? '' : `event: ${event}\n`;
  return `${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}
