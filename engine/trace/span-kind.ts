import { isProcessorLane, type Span } from './trace.ts';

/**
 * What a span means to whoever looks for lost time (prima.cpp Fig. 6): `computing` (memory access and KV cache
 * included), `stall` (a computation waits for the disk), `prefetch` (read ahead of the computation), `page-fault` (read
 * because a computation needs it, as are all reads that aren't called a prefetch), `copy` (between a device's
 * memories, or to its disk), `communication`.
 */
export type SpanKind = 'computing' | 'stall' | 'prefetch' | 'page-fault' | 'copy' | 'communication';

export function spanKind({ lane, cause, name }: Pick<Span, 'lane' | 'cause' | 'name'>): SpanKind {
  if (lane === 'disk' && cause === 'deviceCopy') return 'copy';
  if (lane === 'disk') return name === 'prefetch' ? 'prefetch' : 'page-fault';
  if (isProcessorLane(lane) && cause === 'disk') return 'stall';
  if (cause === 'deviceCopy') return 'copy';
  return lane === 'link' ? 'communication' : 'computing';
}
