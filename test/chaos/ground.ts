import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { processStart } from '../../engine/files/process-mark.ts';
import type { DeviceGroup } from '../../experiments/lab/cgroups/device-group.ts';
import { createDeviceGroup } from '../../experiments/lab/cgroups/device-group.ts';
import { limitWrites } from '../../experiments/lab/cgroups/limits.ts';
import { removeDeadLabs } from '../../experiments/lab/dead-labs.ts';
import { findLabGround, type LabGround } from '../../experiments/lab/ground.ts';
import { formatLabName } from '../../experiments/lab/name.ts';
import { createLabNetwork, listNamespaces, removeNamespaces } from '../../experiments/lab/network.ts';
import { endProcesses } from '../../experiments/lab/processes.ts';
import { REAL_FILES, runProgram } from '../../experiments/lab/system.ts';

/** Place of one device of the ring. */
export interface DeviceGround {
  /** Its host, as others reach it. */
  readonly host: string;
  readonly wrapper: readonly string[];
  readonly joins: readonly string[];
  /** `undefined` without root, cgroups or namespaces. */
  readonly controls: DeviceControls | undefined;
}

/** Switches of a device outside its process. */
export interface DeviceControls {
  /** Takes the device off the network, or puts it back. */
  link(up: boolean): void;
  /**
   * Holds what it sends to a rate. The queue holds some packets: what comes faster is lost, and sent again by TCP.
   * @param rate bits per second; `undefined`: unlimited
   */
  shape(rate: number | undefined): void;
  /** Holds what it reads from disk to a rate, bytes per second; `undefined`: unlimited. */
  throttle(rate: number | undefined): void;
  /** Limits the memory of its processes, bytes; `undefined`: unlimited. */
  limitMemory(bytes: number | undefined): void;
  memoryBytes(): number;
}

export interface Ground {
  readonly devices: readonly DeviceGround[];
  /** Why there are no controls; empty where there are. */
  readonly missing: string;
  close(): void;
}

const FAST_LINK = 10e9 / 8;
const UNLIMITED = { memory: 2 ** 42, diskRate: 1e11 };
/** Bytes that models and logs take. */
const FOLDER_BYTES = 2 ** 28;

/** A network namespace and a control group for each device where root allows it; otherwise all are on loopback. */
export function openGround(names: readonly string[], folder: string): Ground {
  mkdirSync(folder, { recursive: true });
  const ground = findLabGround(REAL_FILES, runProgram, folder, FOLDER_BYTES);
  if ('missing' in ground) {
    const device = { host: '127.0.0.1', wrapper: [], joins: [], controls: undefined };
    return { devices: names.map(() => device), missing: ground.missing.join('; '), close() {} };
  }
  removeDeadLabs(ground, folder);
  const start = processStart(REAL_FILES.read('/proc/self/stat'));
  const nameOf = (part: string): string => formatLabName({ pid: process.pid, start, part: `chaos-${part}` });
  const groups: DeviceGroup[] = [];
  const close = (): void => {
    for (const group of groups.splice(0)) endProcesses(group.processes, group.remove);
    const own = listNamespaces(runProgram).filter((name) => name.startsWith(nameOf('')));
    removeNamespaces(runProgram, own);
  };
  process.once('exit', close);
  const links = names.map(() => ({ bandwidth: FAST_LINK }));
  const namespaces = createLabNetwork({ run: runProgram, nameOf, devices: names, links });
  const devices = names.map((device, index): DeviceGround => {
    const group = createDeviceGroup({ files: REAL_FILES, ...ground, name: nameOf(device) });
    groups.push(group);
    const { name, address } = namespaces[index] as (typeof namespaces)[number];
    const controls = controlsOf({
      ground,
      group: nameOf(device),
      namespace: name,
      port: [nameOf('switch'), `port${index}`],
    });
    controls.shape(undefined);
    return { host: address, wrapper: ['ip', 'netns', 'exec', name], joins: group.joins, controls };
  });
  return {
    devices,
    missing: '',
    close() {
      process.off('exit', close);
      close();
    },
  };
}

interface ControlParts {
  readonly ground: LabGround;
  /** Name of its control groups. */
  readonly group: string;
  readonly namespace: string;
  /** Namespace and name of its port at the switch. */
  readonly port: readonly [string, string];
}

function controlsOf({ ground, group, namespace, port: [bridge, port] }: ControlParts): DeviceControls {
  const { controllers, disk } = ground;
  const limit = (resource: 'memory' | 'disk', limits: typeof UNLIMITED): void => {
    for (const write of limitWrites({ ...limits, cores: 1 }, disk, controllers))
      if (write.resource === resource)
        REAL_FILES.write(join(controllers[resource].root, group, write.file), write.value);
  };
  const memoryFile = controllers.memory.version === 1 ? 'memory.usage_in_bytes' : 'memory.current';
  return {
    link: (up) => void runProgram('ip', '-n', bridge, 'link', 'set', port, up ? 'up' : 'down'),
    shape(rate) {
      const queue = rate === undefined ? ['burst', '1mb', 'latency', '1s'] : ['burst', '4kb', 'limit', '6kb'];
      const bits = `${rate ?? 8 * FAST_LINK}bit`;
      runProgram('tc', '-n', namespace, 'qdisc', 'replace', 'dev', 'eth0', 'root', 'tbf', 'rate', bits, ...queue);
    },
    throttle: (rate) => limit('disk', { ...UNLIMITED, diskRate: rate ?? UNLIMITED.diskRate }),
    limitMemory: (bytes) => limit('memory', { ...UNLIMITED, memory: bytes ?? UNLIMITED.memory }),
    memoryBytes: () => Number(REAL_FILES.read(join(controllers.memory.root, group, memoryFile))),
  };
}
