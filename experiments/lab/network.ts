import type { NetworkLink } from '../../engine/hardware/device.ts';
import type { RunProgram } from './system.ts';

/** The network namespace of one device, and its address on the lab's network. */
export interface DeviceNamespace {
  readonly name: string;
  readonly address: string;
}

export interface LabNetworkParts {
  readonly run: RunProgram;
  /** Name of the namespace for a part: a device, or `switch`. */
  readonly nameOf: (part: string) => string;
  readonly devices: readonly string[];
  /** The link over which each device sends, in the order of the devices. */
  readonly links: readonly Pick<NetworkLink, 'bandwidth'>[];
}

/** Prefix of the addresses, which are visible only inside the lab's namespaces. */
const NETWORK = '10.77.0';

/**
 * Bucket of the token bucket filter: bytes that pass a shaped link at once. At 32 KiB whole messages escape the rate
 * (measured); a packet with its headers has to fit.
 */
const BURST = '4kb';

/**
 * Makes a network namespace for each device, all connected to a bridge in a namespace of its own, so that the machine's
 * own network is not changed. Outgoing traffic is held to the rate of the device's link (tc tbf); the processes
 * themselves delay what they send by the link's latency.
 */
export function createLabNetwork({ run, nameOf, devices, links }: LabNetworkParts): DeviceNamespace[] {
  const bridge = nameOf('switch');
  run('ip', 'netns', 'add', bridge);
  run('ip', '-n', bridge, 'link', 'add', 'bridge0', 'type', 'bridge');
  run('ip', '-n', bridge, 'link', 'set', 'bridge0', 'up');
  return devices.map((device, index) => {
    const [name, port, address] = [nameOf(device), `port${index}`, `${NETWORK}.${index + 1}`];
    run('ip', 'netns', 'add', name);
    run('ip', 'link', 'add', port, 'netns', bridge, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    run('ip', '-n', bridge, 'link', 'set', port, 'master', 'bridge0', 'up');
    run('ip', '-n', name, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
    run('ip', '-n', name, 'link', 'set', 'eth0', 'up');
    run('ip', '-n', name, 'link', 'set', 'lo', 'up');
    const rate = `${Math.round(8 * (links[index]?.bandwidth ?? 0))}bit`;
    run('tc', '-n', name, 'qdisc', 'add', 'dev', 'eth0', 'root', 'tbf', 'rate', rate, 'burst', BURST, 'latency', '1s');
    return { name, address };
  });
}

/** Removes namespaces; the links and the bridge in them are removed with them. */
export function removeNamespaces(run: RunProgram, names: readonly string[]): void {
  for (const name of names) run('ip', 'netns', 'del', name);
}

/** Names of all network namespaces of this machine. */
export function listNamespaces(run: RunProgram): string[] {
  return run('ip', 'netns', 'list')
    .split('\n')
    .map((line) => line.split(' ')[0] ?? '')
    .filter(Boolean);
}
