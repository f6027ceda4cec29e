import { join } from 'node:path';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { loadAddon } from '../../engine/kernels/native/addon.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { clusterFile } from '../../engine/profile/cluster-file.ts';
import { createCpuProbes } from '../../engine/profile/cpu-probes.ts';
import { measureDisk } from '../../engine/profile/disk.ts';
import { readMemory } from '../../engine/profile/memory/read-memory.ts';
import { THIS_HOST } from '../../engine/profile/memory/this-host.ts';
import { WEIGHTS_FILE_BYTES, withWeightsFile } from '../../engine/profile/probes/weights-file.ts';
import { clockFor } from '../../engine/profile/processor-clock.ts';

/** Rounds of probes; the first doesn't count. */
const ROUNDS = 6;

/**
 * Measures one thread of this machine as `hearth profile` does, with the one format that models of a lab have.
 * @param folder where a file is made, read and removed
 * @throws InputError without native kernels
 */
export async function probeCpu(
  folder: string,
  seed: number,
): Promise<{ readonly cluster: Cluster; readonly text: string }> {
  const addon = loadAddon();
  if (typeof addon === 'string')
    throw new InputError('native kernels', `not available (${addon}); install g++ and run: npm run build:native`);
  const file = join(folder, `probe.${process.pid}.tmp`);
  const text = await withWeightsFile(file, seed, () => {
    const disk = measureDisk(addon, file, WEIGHTS_FILE_BYTES, () => {});
    const { opened: kernels, clock } = clockFor(() => openKernels({ implementation: 'native', threads: 1 }));
    try {
      const probes = createCpuProbes({ kernels, clock, weights: kernels.mapFile(file) }, ['F16']);
      for (let round = 0; round < ROUNDS; round++) probes.round();
      const cpu = probes.measures();
      const { instructionSet } = kernels;
      return clusterFile({
        name: 'this machine',
        memory: readMemory(THIS_HOST),
        disk,
        cache: undefined,
        cpu,
        instructionSet,
      });
    } finally {
      kernels.close();
    }
  });
  return { cluster: parseCluster(text, 'probes'), text };
}
