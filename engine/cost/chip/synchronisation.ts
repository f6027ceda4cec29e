import type { Soc, SynchronisationTimes } from '../../hardware/device.ts';
import type { Synchronisation } from '../../plan/tensor-partition.ts';

/** T_sync and T_copy of an operator that the NPU has a part of (HeteroLLM 4.3), seconds. */
export interface HandOver {
  readonly sync: number;
  readonly copy: number;
}

/** Copies per processor's part if memory isn't shared: its input and its result. */
export const COPIES_PER_PART = 2;

/**
 * Seconds of handing an operator over to the NPU and back.
 *
 * `fast` (HeteroLLM 4.2): memory is mapped into both address spaces, so nothing is copied. The synchronisation thread
 * sees the flag half a polling interval late on average, then notifies the NPU. If the NPU ends last, the GPU's queue
 * has run empty and the next kernel starts late (prefill, NPU-dominant); if the GPU ends last, the next kernel is
 * already queued (decode, GPU-dominant).
 *
 * `naive` (HeteroLLM 3.1): every part's input and result are copied through the CPU's memory, and the queue always runs
 * empty.
 * @param parts number of processors that have a part: 1 (the NPU) or 2
 */
export function handOverSeconds(
  synchronisation: Synchronisation,
  { soc, parts, npuEndsLast }: { readonly soc: Soc; readonly parts: number; readonly npuEndsLast: boolean },
): HandOver {
  const { copy, poll, notify } = soc.synchronisation;
  if (synchronisation === 'naive') {
    return { sync: notify + soc.gpu.drained, copy: parts * COPIES_PER_PART * copy };
  }
  return { sync: poll / 2 + notify + (npuEndsLast ? soc.gpu.drained : 0), copy: 0 };
}

/** How the synchronisation thread waits: it sleeps, then polls the flag. */
export interface Waiting {
  readonly sleep: number;
  /** Seconds of polling until the flag is seen. */
  readonly polling: number;
}

/**
 * The wait for a kernel (HeteroLLM 4.2): the thread sleeps for as many whole granules of `usleep` as fit into the
 * predicted wait, then polls. If the kernel ends during the sleep, the thread is late.
 * @param predicted,actual seconds until the kernel is done
 */
export function waitForFlag(predicted: number, actual: number, times: SynchronisationTimes): Waiting {
  const sleep = times.sleep === 0 ? 0 : Math.floor(predicted / times.sleep) * times.sleep;
  const left = Math.max(0, actual - sleep);
  return { sleep, polling: times.poll === 0 ? left : Math.ceil(left / times.poll) * times.poll };
}
