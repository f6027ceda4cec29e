/** A ring at work, for the server's page: `GET /ring`. */
export interface RingState {
  /** In ring order, the head first; those that are lost as well. */
  readonly devices: readonly RingDeviceState[];
  /** The windows of the plan in the order in which a token visits them: layers `from` up to, not including, `to`. */
  readonly windows: readonly { readonly device: string; readonly from: number; readonly to: number }[];
  /** Seconds over which the devices' activity was observed; 0: nothing has been yet. */
  readonly seconds: number;
  /** Texts that share the ring now. */
  readonly texts: number;
  /** Predicted TPOT with this many texts, or one, seconds; `null` without the devices' hardware facts. */
  readonly predictedSeconds: number | null;
  /** Measured TPOT of a text, seconds; `null` while none is written. */
  readonly measuredSeconds: number | null;
  /** Failures and recoveries of devices, the newest last. */
  readonly events: readonly RingEvent[];
}

export interface RingDeviceState {
  readonly name: string;
  readonly present: boolean;
  /** Layers on its CPU and on its GPU. */
  readonly cpuLayers: number;
  readonly gpuLayers: number;
  /** Bytes that it holds and can't give back, and its RAM; `null` if it doesn't say. */
  readonly memory: { readonly held: number; readonly limit: number } | null;
  /** Shares of the time, 0 to 1. */
  readonly activity: RingActivity;
}

/** Activity of a device: shares of the observed time, 0 to 1. Reading and sending overlap with computing. */
export interface RingActivity {
  readonly computing: number;
  /** Its processor waited for weights from the disk. */
  readonly waiting: number;
  /** Its disk read weights. */
  readonly reading: number;
  /** Its results were on their way to the next device. */
  readonly sending: number;
}

export interface RingEvent {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly line: string;
}
