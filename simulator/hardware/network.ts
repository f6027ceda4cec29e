import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Device, NetworkLink } from '../../engine/hardware/device.ts';
import { type RandomStream, randomStream } from '../../engine/input/random-stream.ts';
import type { Recorder } from '../../engine/trace/recorder.ts';
import { hold, type Steps } from '../event-loop/effect.ts';
import { createSharedRate, type SharedRate } from '../event-loop/shared-rate.ts';
import type { Simulation } from '../event-loop/simulation.ts';

/** Payload of a packet: Ethernet's 1500 bytes minus the headers of IP and TCP. */
const PACKET_BYTES = 1460;

/** Messages between devices. */
export interface Network {
  /**
   * Sends `bytes` from device `from` to device `to` (indices into the cluster's devices); ends when they have arrived.
   */
  send(from: number, to: number, bytes: number): Steps;
}

/**
 * The network of a cluster. A message occupies its link, or the medium that all links share, and arrives after the
 * latency and, with jitter, an exponentially distributed delay. Lost packets are sent again after a round trip in which
 * the receiver reports them (selective acknowledgement, RFC 2018), until all have arrived.
 *
 * Concurrent messages share the bandwidth equally. A single message, without jitter or loss, takes latency + bytes /
 * bandwidth, as in the closed forms.
 * @param seed seed of jitter and loss
 */
export function createNetwork(simulation: Simulation, cluster: Cluster, seed: number): Network {
  return new CarriedNetwork(simulation, cluster, randomStream(seed, 'network'));
}

/**
 * A class, so that all networks share one `send`: V8 makes a hidden class for each closure that is a generator function
 * and is called. It lives until old garbage is collected, and with it everything that the closure sees, here a whole
 * simulation, which every collection of young garbage would then copy.
 */
class CarriedNetwork implements Network {
  private readonly carriers = new Map<string, SharedRate>();

  constructor(
    private readonly simulation: Simulation,
    private readonly cluster: Cluster,
    private readonly random: RandomStream,
  ) {}

  *send(from: number, to: number, bytes: number): Steps {
    const { random } = this;
    const link = this.cluster.link(from, to);
    const { latency, bandwidth, jitter = 0, loss = 0 } = link;
    const carrier = this.carrierOf(this.nameOf(from, to, link));
    yield carrier.transfer(bytes / bandwidth);
    if (loss > 0) {
      for (let lost = lostPackets(bytes, loss, random); lost > 0; lost = binomial(lost, loss, random)) {
        yield hold(2 * latency);
        yield carrier.transfer((lost * PACKET_BYTES) / bandwidth);
      }
    }
    yield hold(latency + (jitter === 0 ? 0 : jitter * random.exponential()));
  }

  private nameOf(from: number, to: number, link: NetworkLink): string {
    const { devices, links } = this.cluster;
    if (links.medium === 'shared') return 'the shared medium';
    const isOneWay = link.duplex !== 'half' || from < to;
    const [a, b] = [from, to].map((index) => devices[index]?.name ?? '');
    return isOneWay ? `the link from ${a} to ${b}` : `the link from ${b} to ${a}`;
  }

  /**
   * The link or medium that messages share. Its unit of work is a second, since links of different bandwidths can share
   * a medium.
   */
  private carrierOf(name: string): SharedRate {
    const found = this.carriers.get(name);
    if (found !== undefined) return found;
    const carrier = createSharedRate(this.simulation, { name, rate: 1 });
    this.carriers.set(name, carrier);
    return carrier;
  }
}

function lostPackets(bytes: number, loss: number, random: RandomStream): number {
  return binomial(Math.ceil(bytes / PACKET_BYTES), loss, random);
}

/**
 * A random number of successes in `count` trials of equal `probability`, drawn by the geometric gaps between successes.
 */
function binomial(count: number, probability: number, random: RandomStream): number {
  let happened = 0;
  for (let position = 0; ; happened++) {
    position += 1 + Math.floor(Math.log(1 - random.next()) / Math.log1p(-probability));
    if (position > count) return happened;
  }
}

/** The parts of a simulation that sending a message needs. */
export interface Sending {
  readonly simulation: Simulation;
  readonly recorder: Recorder;
  readonly network: Network;
  readonly cluster: Cluster;
}

/**
 * Sends a message from one device to another (indices into the cluster's devices) and records it in the sender's trace.
 */
export function* send(
  { simulation, recorder, network, cluster }: Sending,
  from: number,
  to: number,
  bytes: number,
): Steps {
  const start = simulation.now;
  yield* network.send(from, to, bytes);
  if (!recorder.wantsSpans) return;
  const sender = cluster.devices[from] as Device;
  const receiver = cluster.devices[to] as Device;
  const span = { device: sender.name, lane: 'link', cause: 'link', name: `to ${receiver.name}` } as const;
  recorder.span({ ...span, start, end: simulation.now, args: { bytes } });
}
