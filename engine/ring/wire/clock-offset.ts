/** One exchange of clock readings, seconds: sent and received on ours, read between them on the other. */
export interface ClockExchange {
  readonly sentAt: number;
  readonly at: number;
  readonly receivedAt: number;
}

/** Exchanges that are remembered: with one a second, what clocks drift meanwhile stays below a few microseconds. */
const REMEMBERED = 30;

/** How far another clock is ahead of ours: at + offset there is `at` here. */
export interface ClockOffset {
  readonly seconds: number;
  add(exchange: ClockExchange): void;
}

/** By the exchange with the shortest round trip, as in NTP (RFC 5905, 10): half of it is the most it can be off. */
export function createClockOffset(): ClockOffset {
  const exchanges: { readonly trip: number; readonly offset: number }[] = [];
  return {
    get seconds() {
      const best = exchanges.reduce((least, one) => (one.trip < least.trip ? one : least), {
        trip: Infinity,
        offset: 0,
      });
      return best.offset;
    },
    add({ sentAt, at, receivedAt }) {
      exchanges.push({ trip: receivedAt - sentAt, offset: at - (sentAt + receivedAt) / 2 });
      if (exchanges.length > REMEMBERED) exchanges.shift();
    },
  };
}
