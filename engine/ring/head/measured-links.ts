import { parseJson } from '../../input/parse-json.ts';
import type { DeviceFacts, MeasuredRingLink } from './inquiries.ts';
import type { MemberAddress } from './member.ts';

/**
 * A cluster file of what devices said of themselves and of the links between neighbours that were measured; other pairs
 * are taken to be as slow as the slowest of these.
 * @param devices in ring order, the head first
 * @throws InputError for facts that are no JSON; whether they are a device's is for parseCluster
 */
export function measuredCluster(
  devices: readonly DeviceFacts[],
  links: readonly MeasuredRingLink[],
  addresses: readonly MemberAddress[],
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
        pairs: pairsOf(links).map((link) => ({
          between: [link.from, link.to],
          ...quantities(link, 'measured: by probes of the ring'),
        })),
      },
    },
    null,
    2,
  )}\n`;
}

/** Loopback outruns what a cluster file may say of a link; bytes per second. */
const FASTEST = 1e13;

/** A pair may be measured both ways: a cluster's links are the same both ways, so the slower one counts. */
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
