import { DEFAULT_READ_AHEAD, PAGE_TABLES } from '../../engine/cost/reclaim.ts';
import { createPageCache } from '../../simulator/page-cache/page-cache.ts';
import type { PagePolicy } from '../../simulator/page-cache/policies.ts';
import { scan } from '../../simulator/page-cache/scan.ts';
import type { ComparedRecord, ScannedSize } from './record.ts';

/** Policies that a system is compared with. `android` is `linux` with what can be swapped out as more memory. */
export const COMPARED_POLICIES = ['linux', 'linux-two-list', 'mglru', 'overflow', 'metal'] as const;
export type ComparedPolicy = (typeof COMPARED_POLICIES)[number];

/** Extents of a simulated file; none is smaller than the usual read-ahead. */
const EXTENTS = 2048;

/** The policy that Hearth simulates the weights of this system's CPU with. */
export function policyOfSystem({ reclaim }: ComparedRecord['system']): ComparedPolicy {
  return reclaim?.startsWith('mglru') === true ? 'mglru' : 'linux';
}

/** Share of the file that each scan reads under a policy. */
export function simulatedReads(record: ComparedRecord, { bytes, scans }: ScannedSize, name: ComparedPolicy): number[] {
  const size = Math.round(bytes);
  const extentBytes = Math.max(DEFAULT_READ_AHEAD, Math.ceil(size / EXTENTS));
  const limit = record.settings.memory;
  const cache = createPageCache({ size, limit, policy: policyOf(record, name), extentBytes });
  return scans.map(() => {
    const before = cache.counters().read;
    scan(cache, { from: 0, to: size });
    return (cache.counters().read - before) / size;
  });
}

function policyOf({ system, settings }: ComparedRecord, name: ComparedPolicy): PagePolicy {
  if (name === 'overflow' || name === 'metal') return { name };
  const readsAhead = system.platform === 'linux' || system.platform === 'android';
  const mapping = {
    readAhead: system.readAhead ?? (readsAhead ? DEFAULT_READ_AHEAD : 0),
    // Only mapped files have page tables.
    overhead: settings.by === 'fault' ? PAGE_TABLES : 0,
  };
  if (name !== 'mglru') return { name, ...mapping };
  const walksTables = system.reclaim !== 'mglru-without-walk';
  return { name, ...mapping, walksTables, throughDescriptor: settings.by === 'read' };
}

/** The mean of what the scans after the first read, as a share of the file; `undefined` where nothing told. */
export function laterReads(reads: readonly (number | undefined)[]): number | undefined {
  const later = reads.slice(1).filter((read) => read !== undefined);
  return later.length === 0 ? undefined : later.reduce((sum, read) => sum + read, 0) / later.length;
}
