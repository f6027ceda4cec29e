import { InputError } from '../../../engine/input/input-error.ts';

/** Address of a Redis. */
export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** Number of the database. */
  readonly database: number;
  readonly tls: boolean;
}

/** Redis's registered port (IANA). */
const STANDARD_PORT = 6379;

/** `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`, or `rediss://…` for TLS. @throws InputError for any other text */
export function parseRedisAddress(flag: string, text: string): RedisAddress {
  const problem = (found: string): InputError =>
    new InputError(
      flag,
      `${found}; give redis://HOST:PORT or redis://:PASSWORD@HOST:PORT, with # / ? @ and % of a password as %23 %2F %3F %40 %25`,
    );
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw problem('the URL of the Redis has no valid host and port');
  }
  if (url.hash !== '' || url.search !== '')
    throw problem(`the URL of the Redis has a "${url.hash === '' ? '?' : '#'}"`);
  if (!/^\/?$|^\/\d{1,4}$/.test(url.pathname))
    throw problem('the URL of the Redis has a path that isn’t a database number');
  if (url.hostname === '') throw problem('the URL of the Redis has no host');
  const decoded = (part: string): string | undefined => {
    try {
      return part === '' ? undefined : decodeURIComponent(part);
    } catch {
      throw problem('the URL of the Redis has a "%" that no two digits follow');
    }
  };
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? STANDARD_PORT : Number(url.port),
    username: decoded(url.username),
    password: decoded(url.password),
    database: Number(url.pathname.slice(1)),
    tls: url.protocol === 'rediss:',
  };
}

/** The address as shown to people: without the password. */
export function formatRedisAddress({ host, port, tls }: RedisAddress): string {
  return `redis${tls ? 's' : ''}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
