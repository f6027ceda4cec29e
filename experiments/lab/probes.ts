import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { temporaryPath } from '../../engine/files/temporary-file.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { loadAddon } from '../../engine/kernels/native/addon.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { clusterFile } from '../../engine/profile/cluster-file.ts';
import { measureDisk } from '../../engine/profile/disk.ts';
import { THIS_HOST } from '../../engine/profile/memory/host.ts';
import { readMemory } from '../../engine/profile/memory/read-memory.ts';
import { WEIGHTS_FILE_BYTES, withWeightsFile } from '../../engine/profile/probes/weights-file.ts';
import { clockFor } from '../../engine/profile/processor-clock.ts';
import { createProcessorProbes, type FurtherProbes } from '../../engine/profile/processor-probes.ts';
import type { DeviceGroup } from './cgroups/device-group.ts';

/** Rounds of the processor's probes; the first is not counted. */
const ROUNDS = 6;

/**
 * Measures the disk and one thread of this machine as `hearth profile` does, in the only format that models of a lab
 * have.
 * @param folder where a file is made, read and removed
 * @param further what is probed besides a single text
 * @returns a cluster with this machine as its only device, and the text of its cluster file
 * @throws InputError without native kernels
 */
export async function probeCpu(
  folder: string,
  seed: number,
  further: FurtherProbes,
): Promise<{ readonly cluster: Cluster; readonly text: string }> {
  const addon = loadAddon();
  if (typeof addon === 'string')
    throw new InputError('native kernels', `not available (${addon}); install g++ and run: npm run build:native`);
  const file = temporaryPath(join(folder, 'probe'));
  const text = await withWeightsFile(file, seed, async () => {
    const disk = measureDisk(addon, file, WEIGHTS_FILE_BYTES, () => {});
    const { opened: kernels, clock } = clockFor(() => openKernels({ implementation: 'native', threads: 1 }));
    try {
      const weights = kernels.mapFile(file);
      const probes = createProcessorProbes({ kernels, clock, weights, weightBytes: weights.size }, ['F16'], further);
      for (let round = 0; round < ROUNDS; round++) await probes.round();
      const cpu = probes.measures();
      const { instructionSet } = kernels;
      const memory = readMemory(THIS_HOST);
      return clusterFile({ name: 'this machine', memory, disk, cache: undefined, cpu, gpu: undefined, instructionSet });
    } finally {
      kernels.close();
    }
  });
  return { cluster: parseCluster(text, 'probes'), text };
}

/** Seconds of reading per attempt; the throttle lets through a tenth of a second's bytes at once after a pause. */
const READ_SECONDS = 3;
const BLOCK_BYTES = 2 ** 20;

/**
 * A busy machine delays the probe, which then measures too low a rate but never too high a one: the best of several
 * attempts counts.
 */
const ATTEMPTS = 3;
const GOOD_SHARE = 0.98;

/**
 * Measures the rate at which a process in a group reads a file past the page cache (O_DIRECT): what the group's
 * throttle really lets through, bytes per second. The file is read again from its beginning as often as needed.
 * @param limit what the throttle is set to, bytes per second
 */
export function measureDiskRate(group: DeviceGroup, file: string, fileBytes: number, limit: number): number {
  let best = 0;
  for (let attempt = 0; attempt < ATTEMPTS && best < GOOD_SHARE * limit; attempt++)
    best = Math.max(best, readRate(group, file, fileBytes, limit));
  return best;
}

function readRate(group: DeviceGroup, file: string, fileBytes: number, limit: number): number {
  const wanted = (READ_SECONDS * limit) / BLOCK_BYTES;
  const blocks = Math.max(1, Math.min(Math.floor(fileBytes / BLOCK_BYTES), Math.round(wanted)));
  const repeats = Math.max(1, Math.round(wanted / blocks));
  const joins = group.joins.map((path) => `echo $$ > ${path}`).join(' && ');
  const read = `dd if="$1" of=/dev/null bs=${BLOCK_BYTES} count=${blocks} iflag=direct 2>&1 | tail -n 1`;
  // One read more than is counted: the first uses up what the throttle has saved.
  const script = `${joins} && ${Array.from({ length: repeats + 1 }, () => read).join(' && ')}`;
  const lines = execFileSync('sh', ['-c', script, 'sh', file], { encoding: 'utf8' }).trim().split('\n').slice(1);
  const seconds = lines.map((line) => Number(/, ([\d.e-]+) s,/.exec(line)?.[1]));
  return (repeats * blocks * BLOCK_BYTES) / seconds.reduce((sum, one) => sum + one, 0);
}
