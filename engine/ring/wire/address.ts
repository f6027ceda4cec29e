import { InputError } from '../../input/input-error.ts';

/** The most devices of a ring, and connections of a listener: far fewer than a process has file descriptors (1000). */
export const MOST_DEVICES = 64;

const LARGEST_PORT = 65_535;

/** `tcp://`, then a host name, an IPv4 address or an IPv6 address in brackets, then a port. */
const ADDRESS =
  /^tcp:\/\/([A-Za-z0-9]([A-Za-z0-9._-]{0,252}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}(%[\w.-]{1,32})?\]):(\d{1,5})$/;

/**
 * Whether a text is the address of a peer. libzmq also takes `ipc://` and `inproc://`, which reach into the machine and
 * into the process, and throws for others.
 */
export function isAddress(text: string): boolean {
  const port = Number(ADDRESS.exec(text)?.at(-1));
  return port >= 1 && port <= LARGEST_PORT;
}

/** Whether the host of an address is an IPv6 address, for which libzmq needs to be told. */
export function isIpv6(address: string): boolean {
  return address.startsWith('tcp://[');
}

/** The host of an address: its name or number, without brackets. */
export function hostOf(address: string): string {
  return address
    .replace(/^tcp:\/\//, '')
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '');
}

/** The same host at another port. */
export function withPort(address: string, port: number): string {
  return address.replace(/:[^:\]]*$/, `:${port}`);
}

/** The port of an address. */
export function portOf(address: string): number {
  return Number(/:(\d+)$/.exec(address)?.[1]);
}

/**
 * The address after the one at which a worker listens for heads: that for other devices; any free port after `*`.
 * @throws InputError for an address at which a worker can't listen
 */
export function nextPort(address: string): string {
  const [, host, port] = /^(tcp:\/\/.+):(\*|\d+)$/.exec(address) ?? [];
  const isFree = port === '*' && isAddress(`${host}:1`);
  if (host === undefined || !(isFree || (isAddress(address) && Number(port) < LARGEST_PORT))) {
    const allowed = `tcp://host:port, with a port from 1 to ${LARGEST_PORT - 1} or *, an IPv6 address in brackets`;
    throw new InputError(address, `is not an address; give ${allowed}`);
  }
  return isFree ? `${host}:*` : `${host}:${Number(port) + 1}`;
}
