/** The windows of the devices of a ring, in one round, and what a token takes with them. */
export interface RingWindows {
  /** Seconds of all devices and hops for a token. */
  readonly seconds: number;
  /**
   * The devices of the ring by index, each with the layers of its window; the head comes first, even without layers.
   */
  readonly windows: readonly { readonly device: number; readonly layers: number }[];
}
