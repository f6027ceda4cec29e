import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Device } from '../../engine/hardware/device.ts';
import type { Network } from '../hardware/network.ts';
import type { Steps } from '../kernel/effect.ts';
import type { Simulation } from '../kernel/simulation.ts';
import type { Recorder } from '../recorder.ts';

export interface Sending {
  readonly simulation: Simulation;
  readonly recorder: Recorder;
  readonly network: Network;
  readonly cluster: Cluster;
}

/** A message from one device to another (indices into the cluster's devices), written down at the sender. */
export function* send(
  { simulation, recorder, network, cluster }: Sending,
  from: number,
  to: number,
  bytes: number,
): Steps {
  const [sender, receiver] = [from, to].map((index) => (cluster.devices[index] as Device).name) as [string, string];
  const start = simulation.now;
  yield* network.send(from, to, bytes);
  const times = { start, end: simulation.now };
  recorder.span({ device: sender, lane: 'link', cause: 'link', name: `to ${receiver}`, ...times, args: { bytes } });
}
