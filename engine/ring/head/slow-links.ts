import { type Cluster, deviceIndex } from '../../hardware/cluster.ts';
import { transferSeconds } from '../../hardware/device.ts';
import { formatSeconds } from '../../terminal/format.ts';
import type { MeasuredRingLink } from './inquiries.ts';

/** A link counts as slow beyond this many times what was planned, and this much more; seconds. */
const SLOW = 1.5;
const NOTICEABLE = 100e-6;

/** A line for every link that takes longer for a token than the plan was made for, with both figures. */
export function slowLinks(links: readonly MeasuredRingLink[], cluster: Cluster, tokenBytes: number): string[] {
  return links.flatMap((link) => {
    const planned = transferSeconds(
      cluster.link(deviceIndex(cluster, link.from), deviceIndex(cluster, link.to)),
      tokenBytes,
    );
    const measured = transferSeconds(link, tokenBytes);
    if (measured < SLOW * planned || measured - planned < NOTICEABLE) return [];
    const [is, should] = [measured, planned].map(formatSeconds);
    return [`the link from ${link.from} to ${link.to} takes ${is} for a token; it was planned with ${should}`];
  });
}
