import { type Cluster, deviceIndex } from '../../hardware/cluster.ts';
import { transferSeconds } from '../../hardware/device.ts';
import { formatSeconds } from '../../input/format.ts';
import { parseJson } from '../../input/parse-json.ts';
import type { DeviceFacts, MeasuredRingLink } from './inquiries.ts';
import type { MemberAddress } from './member.ts';

interface ClusterAddresses {
  readonly addresses: readonly MemberAddress[];
  /** Pairs of devices that don't reach each other. */
  readonly unreachable: readonly (readonly [string, string])[];
}

/**
 * A cluster file with the devices' own descriptions and the measured links between neighbours. Other pairs of devices are
 * assumed to be as slow as the slowest measured link.
 * @param devices in ring order, the head first
 * @throws InputError for a description that is not JSON; its content is checked by parseCluster
 */
export function measuredCluster(
  devices: readonly DeviceFacts[],
  links: readonly MeasuredRingLink[],
  { addresses, unreachable }: ClusterAddresses,
): string {
  const facts = devices.map(({ device, facts, memory }) => {
    const known = Object(parseJson(facts, `profile of ${device}`)) as { readonly memory?: object };
    const available = { value: `${Math.floor(memory)} B`, source: 'measured: what the device offers' };
    const { address, publicKey } = addresses.find(({ name }) => name === device) ?? {};
    return { ...known, name: device, address, publicKey, memory: { ...known.memory, available } };
  });
  const latency = Math.max(0, ...links.map((link) => link.latency));
  const bandwidth = Math.min(...links.map((link) => link.bandwidth), FASTEST);
  const quantities = (one: { readonly latency: number; readonly bandwidth: number }, source: string) => ({
    latency: { value: `${one.latency * 1e6} us`, source },
    bandwidth: { value: `${Math.min(one.bandwidth, FASTEST) / 1e9} GB/s`, source },
  });
  return `${JSON.stringify(
    {
      name: devices.map(({ device }) => device).join(', '),
      devices: facts,
      links: {
        default: quantities({ latency, bandwidth }, 'assumed: as the slowest that was measured'),
        pairs: [
          ...pairsOf(links).map((link) => ({
            between: [link.from, link.to],
            ...quantities(link, 'measured: by probes of the ring'),
          })),
          ...unreachable.map((between) => ({ between, reachable: false })),
        ],
      },
    },
    null,
    2,
  )}\n`;
}

/** The highest bandwidth that a cluster file may have, bytes per second; loopback is faster. */
const FASTEST = 1e13;

/**
 * One link for each pair of devices. If both directions were measured the slower one counts, since a cluster has one
 * link per pair.
 */
function pairsOf(links: readonly MeasuredRingLink[]): MeasuredRingLink[] {
  const pairs = new Map<string, MeasuredRingLink>();
  for (const link of links) {
    const key = [link.from, link.to].sort().join('\n');
    const known = pairs.get(key) ?? link;
    const latency = Math.max(known.latency, link.latency);
    pairs.set(key, { ...known, latency, bandwidth: Math.min(known.bandwidth, link.bandwidth) });
  }
  return [...pairs.values()];
}

/** A link counts as slow if a token takes SLOW_FACTOR times the planned time plus SLOW_SECONDS. */
const SLOW_FACTOR = 1.5;
const SLOW_SECONDS = 100e-6;

/** One line for each slow link, with the measured and the planned time of a token. */
export function slowLinks(links: readonly MeasuredRingLink[], cluster: Cluster, tokenBytes: number): string[] {
  return links.flatMap((link) => {
    const planned = transferSeconds(
      cluster.link(deviceIndex(cluster, link.from), deviceIndex(cluster, link.to)),
      tokenBytes,
    );
    const measured = transferSeconds(link, tokenBytes);
    if (measured < SLOW_FACTOR * planned || measured - planned < SLOW_SECONDS) return [];
    const [is, should] = [measured, planned].map(formatSeconds);
    return [`the link from ${link.from} to ${link.to} takes ${is} for a token; it was planned with ${should}`];
  });
}
