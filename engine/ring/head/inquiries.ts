import type { ExpertReads } from '../../experts/expert-reads.ts';
import { probeLink } from '../wire/link-probe.ts';
import type { HeldMemory, MeasuredLink, WorkerMessage } from '../wire/message.ts';
import { MOST_SPANS, type RingSpan } from '../wire/span.ts';
import { RingError, within } from './errors.ts';
import type { Member } from './member.ts';

export interface MeasuredRingLink extends MeasuredLink {
  readonly from: string;
}

/** The spans of a device. */
export interface DeviceSpans {
  readonly device: string;
  /** Seconds by which its clock is ahead of the head's. */
  readonly offset: number;
  /** Bound of the error of `offset`, s. */
  readonly offsetError: number;
  readonly spans: readonly RingSpan[];
}

/** A device's description of itself. */
export interface DeviceFacts {
  readonly device: string;
  /** The device as in a cluster file, JSON. */
  readonly facts: string;
  /** Memory for weights and caches, bytes. */
  readonly memory: number;
}

/** Memory of a device that can't be reclaimed. */
export interface DeviceHeldMemory extends HeldMemory {
  readonly device: string;
}

/** Experts that a device needed and read. */
export interface DeviceExpertReads extends ExpertReads {
  readonly device: string;
}

/** Requests from the head to its members other than running windows. */
export interface HeadInquiries {
  /** Handles answers; other messages are ignored. */
  hear(from: string, message: WorkerMessage): void;
  /** Ends the waits for a device that is gone. */
  lost(device: string, reason: string): void;
  /** Measures the links from the head to `devices`, and from each of them to its successors. */
  measure(epoch: number, devices: readonly string[]): Promise<MeasuredRingLink[]>;
  /** @param fresh whether devices that were measured before are measured again */
  profiles(fresh: boolean): Promise<DeviceFacts[]>;
  /** The spans since they were collected last. */
  collectSpans(): Promise<DeviceSpans[]>;
  /** Memory that `devices` hold now. */
  heldMemory(devices: readonly string[]): Promise<DeviceHeldMemory[]>;
  /** Experts that `devices` have needed and read under the assembly of this number; those that cache none are omitted. */
  expertReads(epoch: number, devices: readonly string[]): Promise<DeviceExpertReads[]>;
  /** Ends all waits. */
  close(): void;
}

export interface HeadInquiriesOptions {
  readonly head: string;
  readonly members: readonly Member[];
  /** The head's own spans, which are taken when they are collected. */
  readonly spans: RingSpan[];
}

/** Seconds to wait for spans, and for measurements: a slow link takes ten. */
const REPORTING = 30;
const MEASURING = 60;
/** Seconds to wait for a profile: a device without one measures itself, which takes about a minute if it is idle. */
const PROFILING = 300;
/** Bytes of the longest train of probes: 80 ms at 100 Mbit/s. */
const PROBE_BYTES = 2 ** 20;

/** All waits are bounded and reject with a RingError that names the late device. */
export function createInquiries({ head, members, spans: ownSpans }: HeadInquiriesOptions): HeadInquiries {
  let onSpans: (from: string, spans: readonly RingSpan[]) => void = () => {};
  let onProfile: (from: string, facts: string | Error) => void = () => {};
  let onMemory: (from: string, held: HeldMemory) => void = () => {};
  let onExperts: (from: string, reads: ExpertReads | undefined) => void = () => {};
  let onMeasured: (from: string, links: readonly MeasuredLink[]) => void = () => {};
  const memberOf = (device: string): Member => members.find(({ name }) => name === device) as Member;
  /** How to end each wait, and the device whose answer it is for. */
  const waits = new Map<(error: Error) => void, string>();
  /** Waits for a device's answer until it is late, the device is lost, or there are no more inquiries. */
  const answer = <Value>(device: string, seconds: number, promise: Promise<Value>, what: string): Promise<Value> => {
    let end: (error: Error) => void = () => {};
    const closed = new Promise<never>((_, reject) => {
      end = reject;
      waits.set(end, device);
    });
    const late = () => new RingError(device, `no ${what} within ${seconds} s`);
    return within(seconds, Promise.race([promise, closed]), late).finally(() => waits.delete(end));
  };
  const probeMember = (device: string): Promise<MeasuredLink> =>
    probeLink(device, memberOf(device).probe, PROBE_BYTES).catch(({ message }: Error) => {
      throw new RingError(device, message);
    });

  return {
    hear(from, message) {
      if (message.kind === 'spans') onSpans(from, message.spans);
      if (message.kind === 'profiled') onProfile(from, message.facts);
      if (message.kind === 'unprofiled') onProfile(from, new RingError(from, message.reason));
      if (message.kind === 'measured') onMeasured(from, message.links);
      if (message.kind === 'memory') onMemory(from, message);
      if (message.kind === 'experts') onExperts(from, message.reads);
    },
    lost(device, reason) {
      for (const [end, asked] of waits) if (asked === device) end(new RingError(device, reason));
    },
    async measure(epoch, devices) {
      const links: MeasuredRingLink[] = [];
      for (const device of devices) links.push({ from: head, ...(await probeMember(device)) });
      for (const device of devices) {
        const measured = new Promise<readonly MeasuredLink[]>((resolve) => {
          onMeasured = (from, found) => from === device && resolve(found);
        });
        memberOf(device).tell({ kind: 'measure', epoch, bytes: PROBE_BYTES });
        for (const link of await answer(device, MEASURING, measured, 'measurements'))
          links.push({ from: device, ...link });
      }
      return links;
    },
    profiles(fresh) {
      const listeners = new Map<string, (facts: string | Error) => void>();
      onProfile = (from, facts) => listeners.get(from)?.(facts);
      const asked = members.map((member): Promise<DeviceFacts> => {
        const told = new Promise<string>((resolve, reject) => {
          listeners.set(member.name, (facts) => (facts instanceof Error ? reject(facts) : resolve(facts)));
        });
        member.tell({ kind: 'profile', fresh });
        const memory = member.welcome?.memory ?? 0;
        return answer(member.name, PROFILING, told, 'profile').then((facts) => ({
          device: member.name,
          facts,
          memory,
        }));
      });
      return Promise.all(asked);
    },
    heldMemory(devices) {
      const listeners = new Map<string, (held: HeldMemory) => void>();
      onMemory = (from, held) => listeners.get(from)?.(held);
      const asked = devices.map((device): Promise<DeviceHeldMemory> => {
        const told = new Promise<HeldMemory>((resolve) => listeners.set(device, resolve));
        memberOf(device).tell({ kind: 'memory' });
        return answer(device, REPORTING, told, 'memory report').then(({ limit, planned, measured }) => ({
          device,
          limit,
          planned,
          measured,
        }));
      });
      return Promise.all(asked);
    },
    async expertReads(epoch, devices) {
      const listeners = new Map<string, (reads: ExpertReads | undefined) => void>();
      onExperts = (from, reads) => listeners.get(from)?.(reads);
      const asked = devices.map(async (device): Promise<DeviceExpertReads[]> => {
        const told = new Promise<ExpertReads | undefined>((resolve) => listeners.set(device, resolve));
        memberOf(device).tell({ kind: 'experts', epoch });
        const reads = await answer(device, REPORTING, told, 'report of experts');
        return reads === undefined ? [] : [{ device, ...reads }];
      });
      return (await Promise.all(asked)).flat();
    },
    async collectSpans() {
      const found: DeviceSpans[] = [{ device: head, offset: 0, offsetError: 0, spans: ownSpans.splice(0) }];
      for (const member of members) {
        if (member.welcome === undefined) continue;
        const spans: RingSpan[] = [];
        const complete = new Promise<void>((resolve, reject) => {
          onSpans = (from, part) => {
            if (from !== member.name) return;
            spans.push(...part);
            if (part.length === 0) resolve();
            else if (spans.length > MOST_SPANS) reject(new RingError(from, `sent more than ${MOST_SPANS} spans`));
          };
        });
        member.tell({ kind: 'report' });
        await answer(member.name, REPORTING, complete, 'spans').finally(() => {
          onSpans = () => {};
        });
        const { seconds: offset, error: offsetError } = member.offset;
        found.push({ device: member.name, offset, offsetError, spans });
      }
      return found;
    },
    close() {
      for (const end of waits.keys()) end(new RingError(head, 'the ring is closed'));
    },
  };
}
