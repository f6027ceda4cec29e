import { loadAddon } from './addon.ts';

/** Milliseconds between turns of the loop that are reported to the watch. */
const TURN = 250;

/**
 * Watches this thread's loop of events from another thread (native/threads/loop_watch.hpp). If the loop doesn't turn for
 * `seconds`, and the process neither computes nor reads meanwhile, all TCP connections of the process are cut and `line`
 * is written to stderr: their peers learn that nobody serves them, although libzmq's thread still answers heartbeats.
 * Does nothing without the addon.
 * @returns a function that ends the watch
 */
export function watchLoop(seconds: number, line: string): () => void {
  const addon = loadAddon();
  if (typeof addon === 'string') return () => {};
  const watch = new addon.LoopWatch(seconds, line);
  const timer = setInterval(() => watch.turn(), TURN).unref();
  return () => {
    clearInterval(timer);
    watch.close();
  };
}
