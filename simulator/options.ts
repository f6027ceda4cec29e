import type { Cluster } from '../engine/hardware/cluster.ts';
import { reloadRate } from '../engine/hardware/device.ts';
import { InputError, suggestion } from '../engine/input/input-error.ts';
import { PAGE_POLICIES } from './page-cache/policies.ts';
import type { SimulationOptions } from './simulate.ts';

/** Of noise, jitter and loss, unless given. */
export const DEFAULT_SEED = 1;

/** @throws InputError for an option, or a rate of a disk or link, that can't be */
export function checkOptions(options: SimulationOptions, cluster: Cluster): void {
  const { noise = 0, seed = 0, reclaim = 'os', extentBytes = 1, chunkBytes = 1, memoryTaken = {}, paging } = options;
  const { sliceSeconds, diskRate } = options.throttle ?? { sliceSeconds: 1, diskRate: 1 };
  const names: readonly string[] = ['os', 'overflow', ...PAGE_POLICIES];
  const policy = typeof reclaim === 'string' ? reclaim : reclaim.name;
  if (!names.includes(policy)) throw new InputError('reclaim', `unknown "${policy}"${suggestion(policy, names)}`);
  check('noise', noise, noise >= 0 && noise <= 1, 'a relative deviation from 0 to 1');
  check('seed', seed, Number.isInteger(seed), 'a whole number');
  check('extentBytes', extentBytes, Number.isInteger(extentBytes) && extentBytes >= 1, 'a whole number of bytes');
  check('chunkBytes', chunkBytes, chunkBytes >= 1 && Number.isFinite(chunkBytes), 'a number of bytes');
  check('throttle.sliceSeconds', sliceSeconds, sliceSeconds > 0 && sliceSeconds < 60, 'seconds, above 0 and below 60');
  check('throttle.diskRate', diskRate, isRate(diskRate), 'a rate above 0 bytes per second');
  if (paging !== undefined) {
    const { pageTokens, watermark, passingSlices } = paging;
    check('paging.pageTokens', pageTokens, Number.isInteger(pageTokens) && pageTokens >= 1, 'a whole number of tokens');
    check('paging.watermark', watermark, watermark > 0 && watermark <= 1, 'a share above 0 and at most 1');
    const slices = Number.isInteger(passingSlices) && passingSlices >= 1;
    check('paging.passingSlices', passingSlices, slices, 'a whole number from 1 on');
  }
  const devices = cluster.devices.map(({ name }) => name);
  for (const [name, schedule] of Object.entries(memoryTaken)) {
    if (!devices.includes(name))
      throw new InputError('memoryTaken', `no device is called "${name}"${suggestion(name, devices)}`);
    for (const [index, { time, bytes }] of schedule.entries()) {
      const place = `memoryTaken.${name}[${index}]`;
      const before = schedule[index - 1]?.time ?? 0;
      check(`${place}.time`, time, time >= before && Number.isFinite(time), 'seconds, in ascending order');
      check(`${place}.bytes`, bytes, bytes >= 0 && Number.isFinite(bytes), 'bytes, 0 or more');
    }
  }
  for (const device of cluster.devices) {
    for (const rate of [reloadRate(device), device.disk.random])
      check(`${device.name}: disk`, rate, isRate(rate), 'a rate above 0 bytes per second');
  }
  for (const link of [cluster.links.default, ...cluster.links.pairs.values()]) {
    const { latency, bandwidth, jitter = 0, loss = 0 } = link;
    check('links: bandwidth', bandwidth, isRate(bandwidth), 'a rate above 0 bytes per second');
    check('links: latency', latency, latency >= 0 && Number.isFinite(latency), 'seconds, 0 or more');
    check('links: jitter', jitter, jitter >= 0 && Number.isFinite(jitter), 'seconds, 0 or more');
    check('links: loss', loss, loss >= 0 && loss < 1, 'a share of packets below 1');
  }
}

function isRate(rate: number): boolean {
  return rate > 0 && Number.isFinite(rate);
}

function check(where: string, value: number, isAllowed: boolean, allowed: string): void {
  if (!isAllowed) throw new InputError(where, `${value} is not ${allowed}`);
}
