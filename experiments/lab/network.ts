import type { NetworkLink } from '../../engine/hardware/device.ts';

/** A namespace with one device of a lab in it, and its address on the lab's own network. */
export interface DeviceNamespace {
  readonly name: string;
  readonly address: string;
}

/** Addresses of a network that nothing outside the lab's namespaces ever sees. */
const NETWORK = '10.77.0';

/**
 * Bytes that go through a shaped link at once. With 32 KiB whole messages escape the rate (measured); a packet with its
 * headers has to fit.
 */
const BURST = '4kb';

/** Runs a program to its end, such as `ip netns add …`. */
export type RunProgram = (program: string, ...options: readonly string[]) => string;

/**
 * A network namespace for each device, all on a bridge that has a namespace of its own, so that the machine's own network
 * stays as it is. What a device sends is held to the rate of its link (tc tbf); latency is added by the senders.
 * @param nameOf the namespace for a part: a device, or `switch`
 * @param links of what each device sends, in the order of the devices
 */
export function createLabNetwork(
  run: RunProgram,
  nameOf: (part: string) => string,
  devices: readonly string[],
  links: readonly Pick<NetworkLink, 'bandwidth'>[],
): DeviceNamespace[] {
  const middle = nameOf('switch');
  run('ip', 'netns', 'add', middle);
  run('ip', '-n', middle, 'link', 'add', 'bridge0', 'type', 'bridge');
  run('ip', '-n', middle, 'link', 'set', 'bridge0', 'up');
  return devices.map((device, index) => {
    const [name, port, address] = [nameOf(device), `port${index}`, `${NETWORK}.${index + 1}`];
    run('ip', 'netns', 'add', name);
    run('ip', 'link', 'add', port, 'netns', middle, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    run('ip', '-n', middle, 'link', 'set', port, 'master', 'bridge0', 'up');
    run('ip', '-n', name, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
    run('ip', '-n', name, 'link', 'set', 'eth0', 'up');
    run('ip', '-n', name, 'link', 'set', 'lo', 'up');
    const rate = `${Math.round(8 * (links[index]?.bandwidth ?? 0))}bit`;
    run('tc', '-n', name, 'qdisc', 'add', 'dev', 'eth0', 'root', 'tbf', 'rate', rate, 'burst', BURST, 'latency', '1s');
    return { name, address };
  });
}

/** Links and bridge go with their namespaces. */
export function removeNamespaces(run: RunProgram, names: readonly string[]): void {
  for (const name of names) run('ip', 'netns', 'del', name);
}

/** Names of all namespaces of this machine. */
export function listNamespaces(run: RunProgram): string[] {
  return run('ip', 'netns', 'list')
    .split('\n')
    .map((line) => line.split(' ')[0] ?? '')
    .filter(Boolean);
}
