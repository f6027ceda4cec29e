import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { ApiError } from './api-error.ts';

/** Whether only programs on this machine reach an address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Decides who may use the server. @returns why a client may not, 401 or 403; `undefined`: it may */
export type CheckAccess = (headers: IncomingHttpHeaders) => ApiError | undefined;

/**
 * With a key, requests that send it. Without one, which is only allowed on loopback, requests that name this machine: a page of a
 * stranger in this machine's browser, whose name was made to point here (DNS rebinding), names itself.
 */
export function accessCheck(key: string | undefined): CheckAccess {
  if (key === undefined) {
    return ({ host = '' }) => {
      // Names are the same in capital letters, and with the dot of the root at their end.
      const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$|\.$/, '$1');
      if (isLoopback(name.toLowerCase())) return undefined;
      return new ApiError(403, 'the Host header must name this machine, such as localhost', null, 'wrong_host');
    };
  }
  const digest = sha256(key);
  return (headers) => {
    const given = keyOf(headers);
    // Digests have one length, and comparing them takes the same time wherever they differ.
    if (given !== undefined && timingSafeEqual(sha256(given), digest)) return undefined;
    const found = given === undefined ? 'no API key was sent' : 'the API key is wrong';
    const remedy = 'send "Authorization: Bearer KEY" or "x-api-key: KEY"';
    return new ApiError(401, `${found}; ${remedy}`, null, 'invalid_api_key');
  };
}

/** The key as clients of OpenAI's or of Anthropic's API send it. */
function keyOf({ authorization, 'x-api-key': key }: IncomingHttpHeaders): string | undefined {
  return /^Bearer (.+)$/i.exec(authorization ?? '')?.[1] ?? (typeof key === 'string' ? key : undefined);
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
