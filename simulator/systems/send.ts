import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Device } from '../../engine/hardware/device.ts';
import type { Steps } from '../event-loop/effect.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import type { Network } from '../hardware/network.ts';
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
  const start = simulation.now;
  yield* network.send(from, to, bytes);
  if (!recorder.wantsSpans) return;
  const sender = cluster.devices[from] as Device;
  const receiver = cluster.devices[to] as Device;
  const span = { device: sender.name, lane: 'link', cause: 'link', name: `to ${receiver.name}` } as const;
  recorder.span({ ...span, start, end: simulation.now, args: { bytes } });
}
