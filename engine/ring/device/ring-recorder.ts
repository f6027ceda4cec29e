import type { WeightsRecorder } from '../../runtime/weights/mapped-weights.ts';
import type { RingSpan } from '../wire/span.ts';

/** Writes what becomes of a device's weights among its other spans. */
export function ringRecorder(record: (span: RingSpan) => void): WeightsRecorder {
  return {
    span: ({ lane, cause, name, start, end, args }) => {
      // As every recorder does: what took no time says nothing.
      if (end > start) record({ kind: 'weights', lane, cause, name, start, end, args });
    },
    sample: (name, time, value) => record({ kind: 'sample', name, time, value }),
  };
}
