/**
 * Seconds since this process began. Only differences between readings, and offsets between processes, are meaningful.
 */
export function clock(): number {
  return performance.now() / 1000;
}

/** One exchange of clock readings, seconds: `sentAt` and `receivedAt` on this clock, `at` on the other, read in between. */
export interface ClockExchange {
  readonly sentAt: number;
  readonly at: number;
  readonly receivedAt: number;
}

/** Exchanges that are kept. With one per second, clocks drift by a few microseconds over all of them. */
const KEPT_EXCHANGES = 30;

/** An estimate of how far another clock is ahead of this one: time t here is t + `seconds` there. */
export interface ClockOffset {
  readonly seconds: number;
  /** Bound of the error of `seconds`, s; Infinity before the first exchange. */
  readonly error: number;
  add(exchange: ClockExchange): void;
}

/**
 * Estimates the offset from the exchange with the shortest round trip, as NTP does (RFC 5905, section 10). Its error is at
 * most half of that round trip.
 */
export function createClockOffset(): ClockOffset {
  const exchanges: { readonly trip: number; readonly offset: number }[] = [];
  const best = () =>
    exchanges.reduce((least, one) => (one.trip < least.trip ? one : least), { trip: Infinity, offset: 0 });
  return {
    get seconds() {
      return best().offset;
    },
    get error() {
      return best().trip / 2;
    },
    add({ sentAt, at, receivedAt }) {
      exchanges.push({ trip: receivedAt - sentAt, offset: at - (sentAt + receivedAt) / 2 });
      if (exchanges.length > KEPT_EXCHANGES) exchanges.shift();
    },
  };
}
