import { FROM_HEAD } from '../wire/message.ts';
import type { RingSpan } from '../wire/span.ts';
import type { DeviceSpans } from './inquiries.ts';

/**
 * Seconds that a device spent on each activity in an interval. Reading and sending overlap with computing, so the
 * shares can add up to more than 1.
 */
export interface DeviceActivity {
  readonly computing: number;
  /** Its processor waited for weights from the disk. */
  readonly waiting: number;
  /** Its disk read weights. */
  readonly reading: number;
  /** Its results were on their way to the next device. */
  readonly sending: number;
}

type Doing = keyof DeviceActivity;

/**
 * Activity of the devices between two times of the head's clock. Overlapping intervals of one kind count once.
 * @param devices the head first
 */
export function activityOf(
  devices: readonly DeviceSpans[],
  from: number,
  to: number,
): ReadonlyMap<string, DeviceActivity> {
  const head = devices[0]?.device ?? '';
  const offsets = new Map(devices.map(({ device, offset }) => [device, offset]));
  const intervals = new Map<string, [start: number, end: number][]>();
  const add = (device: string, doing: Doing, start: number, end: number): void => {
    const [first, last] = [Math.max(from, start), Math.min(to, end)];
    if (last <= first) return;
    const key = `${doing} ${device}`;
    intervals.set(key, [...(intervals.get(key) ?? []), [first, last]]);
  };
  for (const { device, offset, spans } of devices) {
    for (const span of spans) {
      if (span.kind === 'receive') {
        const sender = span.sender === FROM_HEAD ? head : span.sender;
        add(sender, 'sending', span.sentAt - (offsets.get(sender) ?? 0), span.receivedAt - offset);
      } else if (span.kind !== 'sample') {
        const doing = doingOf(span);
        if (doing !== undefined) add(device, doing, span.start - offset, span.end - offset);
      }
    }
  }
  const of = (device: string, doing: Doing): number => covered(intervals.get(`${doing} ${device}`) ?? []);
  return new Map(
    devices.map(({ device }): [string, DeviceActivity] => [
      device,
      {
        computing: of(device, 'computing'),
        waiting: of(device, 'waiting'),
        reading: of(device, 'reading'),
        sending: of(device, 'sending'),
      },
    ]),
  );
}

function doingOf(span: Extract<RingSpan, { kind: 'compute' | 'weights' }>): Doing | undefined {
  if (span.kind === 'compute') return 'computing';
  if (span.cause !== 'disk') return undefined;
  return span.lane === 'disk' ? 'reading' : 'waiting';
}

/** The length of the union of intervals. */
function covered(intervals: readonly (readonly [start: number, end: number])[]): number {
  let [sum, until] = [0, Number.NEGATIVE_INFINITY];
  for (const [start, end] of intervals.toSorted((a, b) => a[0] - b[0])) {
    sum += Math.max(0, end - Math.max(start, until));
    until = Math.max(until, end);
  }
  return sum;
}
