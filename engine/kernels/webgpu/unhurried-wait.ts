/** Never written to, so waiting for a change sleeps. */
const NEVER = new Int32Array(new SharedArrayBuffer(4));
/** Seconds of the shortest and of the longest sleep, which timers lengthen by some 50 µs. */
const SHORTEST = 30e-6;
const LONGEST = 0.2e-3;
/** Share of the time waited so far; an event is noticed half of it too late in the mean. */
const SHARE = 1 / 32;
/** A turn of the event loop that takes more seconds has other work, which sleeping would delay. */
const IDLE_TURN = 0.1e-3;

/**
 * Waits for a device that computes on this machine's own processors. Dawn asks a device in every turn of the event loop
 * whether it is ready, and with nothing else to do the loop turns all the time: of two processors the device had then
 * one and a half. This thread sleeps between turns, the longer the longer it waits.
 */
export async function unhurriedWait<Result>(pending: Promise<Result>): Promise<Result> {
  const begun = now();
  let turned = begun;
  let waiting = true;
  const turn = (): void => {
    if (!waiting) return;
    const at = now();
    if (at - turned < IDLE_TURN) {
      const seconds = Math.min(LONGEST, Math.max(SHORTEST, SHARE * (at - begun)));
      Atomics.wait(NEVER, 0, 0, seconds * 1000);
    }
    turned = now();
    setImmediate(turn);
  };
  setImmediate(turn);
  try {
    return await pending;
  } finally {
    waiting = false;
  }
}

const now = (): number => performance.now() / 1000;
