import type { LanguageModel } from '../../text/language-model.ts';
import type { RingHead } from './head.ts';
import type { RingRequest } from './request.ts';
import { DeviceLostError, RingChangedError } from './ring-error.ts';
import type { RingLayout } from './ring-layout.ts';

/** A ring that mends itself: what several requests share. */
export interface MendingRing {
  /** The ring, put together and whole. Rejects where the devices that are left can't do it. */
  ready(): Promise<RingHead>;
  /** Grows with every time that it was put together: requests of earlier times have lost their caches. */
  readonly assemblies: number;
}

/**
 * @param layoutFor a plan's for these devices, the head first; throws where they can't hold the model
 * @param log told when a plan is made without a device, or with it again
 */
export function mendingRing(
  head: RingHead,
  layoutFor: (devices: readonly string[]) => RingLayout,
  log: (line: string) => void,
): MendingRing {
  let assemblies = 0;
  let mending: Promise<RingHead> | undefined;

  const mend = async (): Promise<RingHead> => {
    // Each loss leaves one device fewer: this ends.
    for (;;) {
      const devices = head.present();
      const layout = layoutFor(devices);
      assemblies += 1;
      try {
        if (assemblies > 1) log(`goes on with ${devices.join(', ')}`);
        await head.assemble(layout);
        return head;
      } catch (error) {
        if (!(error instanceof DeviceLostError)) throw error;
        log(error.message);
      }
    }
  };

  return {
    get assemblies() {
      return assemblies;
    },
    ready() {
      // Before the first assembly here the head may have been put together for measurements.
      if (assemblies > 0 && mending === undefined && head.whole && head.returned.length === 0)
        return Promise.resolve(head);
      mending ??= mend().finally(() => {
        mending = undefined;
      });
      return mending;
    },
  };
}

/** A request in a ring, as generate takes a model. */
export interface RingModel extends LanguageModel {
  evaluate(tokens: readonly number[]): Promise<Float32Array>;
  /** Frees its caches on all devices. */
  close(): void;
}

/** When a device is lost the request goes on from its tokens, on the devices that are left. */
export function ringModel(ring: MendingRing, contextLength: number): RingModel {
  const tokens: number[] = [];
  let request: RingRequest | undefined;
  let assembly = 0;
  return {
    contextLength,
    // All of a prompt: its chunks follow each other through the ring.
    promptPart: contextLength,
    async evaluate(more) {
      tokens.push(...more);
      for (;;) {
        const head = await ring.ready();
        if (request === undefined || assembly !== ring.assemblies) {
          assembly = ring.assemblies;
          request = head.request(contextLength);
        }
        try {
          return await request.evaluate(tokens.slice(request.position));
        } catch (error) {
          if (!(error instanceof DeviceLostError || error instanceof RingChangedError)) throw error;
        }
      }
    },
    close: () => request?.free(),
  };
}
