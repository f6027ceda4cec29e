import { probeLink } from '../wire/link-probe.ts';
import type { MeasuredLink, WorkerMessage } from '../wire/message.ts';
import type { RingSpan } from '../wire/span.ts';
import type { Member } from './member.ts';
import { RingError } from './ring-error.ts';
import { waitFor } from './wait-for.ts';

export interface MeasuredRingLink extends MeasuredLink {
  readonly from: string;
}

/** What devices did, and how far their clocks are ahead of the head's. */
export interface DeviceSpans {
  readonly device: string;
  readonly offset: number;
  readonly spans: readonly RingSpan[];
}

/** What a device says of itself. */
export interface DeviceFacts {
  readonly device: string;
  /** JSON. */
  readonly facts: string;
  /** Bytes for weights and caches. */
  readonly memory: number;
}

/** What a head asks of its members beside the work. */
export interface HeadInquiries {
  /** Takes the messages that answer; others are not for it. */
  hear(from: string, message: WorkerMessage): void;
  /** Links of the head to `devices`, and of each of them to the next. */
  measure(epoch: number, devices: readonly string[]): Promise<MeasuredRingLink[]>;
  profiles(): Promise<DeviceFacts[]>;
  collectSpans(): Promise<DeviceSpans[]>;
}

export interface HeadInquiriesOptions {
  readonly head: string;
  readonly members: readonly Member[];
  /** Of the head itself. */
  readonly ownSpans: readonly RingSpan[];
}

/** Seconds for measurements and reports. */
const REPORT = 30;
/** For a device to measure itself, if it has no profile: a minute, where others do nothing. */
const PROFILE = 300;
/** Bytes of a probe for a link's rate: 80 ms at 100 Mbps. */
const PROBE_BYTES = 2 ** 20;

/** Each question waits for its answer for a bounded time, and rejects with a RingError that names who is late. */
export function createInquiries({ head, members, ownSpans }: HeadInquiriesOptions): HeadInquiries {
  let onSpans: (from: string, spans: readonly RingSpan[]) => void = () => {};
  let onProfile: (from: string, facts: string | Error) => void = () => {};
  let onMeasured: (from: string, links: readonly MeasuredLink[]) => void = () => {};
  const memberOf = (device: string): Member => members.find(({ name }) => name === device) as Member;

  return {
    hear(from, message) {
      if (message.kind === 'spans') onSpans(from, message.spans);
      if (message.kind === 'profiled') onProfile(from, message.facts);
      if (message.kind === 'unprofiled') onProfile(from, new RingError(from, message.reason));
      if (message.kind === 'measured') onMeasured(from, message.links);
    },
    async measure(epoch, devices) {
      const links: MeasuredRingLink[] = [];
      for (const device of devices)
        links.push({ from: head, ...(await probeLink(device, memberOf(device).probe, PROBE_BYTES)) });
      for (const device of devices) {
        const measured = new Promise<readonly MeasuredLink[]>((resolve) => {
          onMeasured = (from, found) => from === device && resolve(found);
        });
        memberOf(device).tell({ kind: 'measure', epoch, bytes: PROBE_BYTES });
        const late = () => new RingError(device, `no measurements within ${REPORT} s`);
        for (const link of await waitFor(measured, REPORT, late)) links.push({ from: device, ...link });
      }
      return links;
    },
    profiles() {
      const listeners = new Map<string, (facts: string | Error) => void>();
      onProfile = (from, facts) => listeners.get(from)?.(facts);
      const asked = members.map((member): Promise<DeviceFacts> => {
        const told = new Promise<string>((resolve, reject) => {
          listeners.set(member.name, (facts) => (facts instanceof Error ? reject(facts) : resolve(facts)));
        });
        member.tell({ kind: 'profile' });
        const late = () => new RingError(member.name, `no profile within ${PROFILE} s`);
        const memory = member.welcome?.memory ?? 0;
        return waitFor(told, PROFILE, late).then((facts) => ({ device: member.name, facts, memory }));
      });
      return Promise.all(asked);
    },
    async collectSpans() {
      const found: DeviceSpans[] = [{ device: head, offset: 0, spans: ownSpans }];
      for (const member of members) {
        if (member.welcome === undefined) continue;
        const spans: RingSpan[] = [];
        const complete = new Promise<void>((resolve) => {
          onSpans = (from, part) => {
            if (from !== member.name) return;
            spans.push(...part);
            if (part.length === 0) resolve();
          };
        });
        member.tell({ kind: 'report' });
        await waitFor(complete, REPORT, () => new RingError(member.name, `no spans within ${REPORT} s`));
        found.push({ device: member.name, offset: member.offset.seconds, spans });
      }
      return found;
    },
  };
}
