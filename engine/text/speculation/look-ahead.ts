import type { RandomStream } from '../../input/random-stream.ts';

/** A stream of random numbers whose next ones can be seen. */
export interface LookAhead extends Pick<RandomStream, 'next'> {
  /** The numbers that `next` is going to give, from the next one on. They are not taken. */
  coming(): Pick<RandomStream, 'next'>;
}

export function lookAhead(stream: Pick<RandomStream, 'next'>): LookAhead {
  const seen: number[] = [];
  return {
    next: () => seen.shift() ?? stream.next(),
    coming() {
      let at = 0;
      return {
        next() {
          if (at === seen.length) seen.push(stream.next());
          return seen[at++] as number;
        },
      };
    },
  };
}
