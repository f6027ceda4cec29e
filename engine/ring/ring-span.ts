/** When a device computed or received something, on clocks that are still to be made one. */
export type RingSpan =
  | {
      readonly kind: 'compute';
      readonly from: number;
      readonly to: number;
      readonly tokens: number;
      readonly request: number;
      /** Seconds, on the device's clock. */
      readonly start: number;
      readonly end: number;
    }
  | {
      readonly kind: 'receive';
      /** Who sent it. */
      readonly sender: string;
      readonly bytes: number;
      readonly request: number;
      /** Seconds, on the sender's clock and on the device's. */
      readonly sentAt: number;
      readonly receivedAt: number;
    };
