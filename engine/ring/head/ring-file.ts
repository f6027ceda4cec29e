import type { Cluster } from '../../hardware/cluster.ts';
import { parseCluster } from '../../hardware/parse-cluster.ts';
import { InputError } from '../../input/input-error.ts';
import { parseJson } from '../../input/parse-json.ts';
import { readFields } from '../../input/read-fields.ts';
import { isAddress, MOST_DEVICES } from '../wire/address.ts';
import { readPublicKey } from '../wire/keys.ts';
import type { MemberAddress } from './member.ts';

/** A cluster file with the addresses of its devices. */
export interface RingFile {
  readonly head: string;
  /** All but the head, in ring order. */
  readonly members: readonly MemberAddress[];
  /** The cluster for schedulers; `undefined` if devices only have names and addresses. */
  readonly cluster: Cluster | undefined;
}

const OWN_KEYS = ['address', 'publicKey'];

/**
 * Reads a cluster file (datasets/README.md) in which every device but the head has an `address`, `tcp://host:port`, and
 * a `publicKey`. Hardware facts are only needed to make plans.
 * @param plain whether links are not encrypted, so that keys are not needed
 * @throws InputError with file and place
 */
export function parseRing(text: string, file: string, plain: boolean): RingFile {
  const raw = parseJson(text, file);
  const root = readFields(raw, file, '', () => {});
  const devices = root.list('devices');
  const names = devices.map((device) => device.text('name'));
  if (names.length === 0) throw new InputError(root.place('devices'), 'is empty; give at least one device');
  if (names.length > MOST_DEVICES)
    throw new InputError(root.place('devices'), `has ${names.length} devices; a ring has at most ${MOST_DEVICES}`);
  const head = root.optionalText('head') ?? (names[0] as string);
  const addresses = devices.map((device, index): MemberAddress | undefined => {
    const name = names[index] as string;
    if (names.indexOf(name) !== index) throw new InputError(device.place('name'), `"${name}" occurs twice; rename one`);
    const key = device.optionalText('publicKey');
    if (key !== undefined) readPublicKey(device.place('publicKey'), key);
    if (name === head) return undefined;
    const address = device.text('address');
    if (!isAddress(address))
      throw new InputError(
        device.place('address'),
        `"${address}" is not an address; give tcp://host:port, an IPv6 address in brackets`,
      );
    if (key === undefined && !plain)
      throw new InputError(device.place('publicKey'), 'is missing; give what its keygen printed, or use --plain');
    return { name, address, publicKey: plain ? undefined : key };
  });
  for (const [index, one] of addresses.entries()) {
    const other = addresses.find((earlier, place) => place < index && earlier?.address === one?.address);
    if (one !== undefined && other !== undefined)
      throw new InputError(
        devices[index]?.place('address') ?? file,
        `"${one.address}" is also that of "${other.name}"; list each worker once`,
      );
  }
  if (!names.includes(head)) throw new InputError(root.place('head'), `no device is called "${head}"`);
  const start = names.indexOf(head);
  const ring = [...addresses.slice(start), ...addresses.slice(0, start)];
  return { head, members: ring.filter((one) => one !== undefined), cluster: hardware(raw, file, root.keys()) };
}

/** The cluster that the file describes, without addresses and keys. */
function hardware(raw: unknown, file: string, keys: readonly string[]): Cluster | undefined {
  const { devices, ...rest } = raw as { readonly devices: readonly Record<string, unknown>[] };
  const facts = devices.map((device) =>
    Object.fromEntries(Object.entries(device).filter(([key]) => !OWN_KEYS.includes(key))),
  );
  if (facts.every((device) => Object.keys(device).length === 1) && !keys.includes('links')) return undefined;
  return parseCluster(JSON.stringify({ ...rest, devices: facts }), file);
}
