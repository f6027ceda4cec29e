import { setImmediate } from 'node:timers/promises';
import { ROUTE_NUMBERS } from '../../model/feed-forward.ts';
import type { ExpertHolder } from '../../plan/plan.ts';
import type { ChosenExperts, ChosenRows } from '../../runtime/pass/chosen-experts.ts';
import type { CrossedExperts } from '../../runtime/pass/crossed-experts.ts';
import { allFinite } from '../../runtime/pass/finite-logits.ts';
import { mixtureLayers } from '../device/held-experts.ts';
import type { LoadedPart } from '../device/loaded-part.ts';
import { checkNumbers } from '../device/window-runner.ts';
import { activationBytes, packActivations, unpackActivations } from '../wire/activations.ts';
import { clock } from '../wire/clock.ts';
import type { ExpertChoice, ExpertsFrame, SumsFrame } from '../wire/frame.ts';
import { FrameError } from '../wire/frame-error.ts';
import type { Assignment } from '../wire/message.ts';
import type { RingSpan } from '../wire/span.ts';
import type { AwaitedDevices } from './sent-frames.ts';

/** The experts of all layers, divided among devices, for the head's layers. */
export interface DividedExperts extends CrossedExperts {
  multiply(...parts: Parameters<CrossedExperts['multiply']>): Promise<void>;
  /** Takes sums of a device. @throws FrameError for those that were not asked for */
  take(frame: SumsFrame, from: string): void;
  /** Devices whose sums have been waited for the longest; `undefined` while none are. */
  awaited(): AwaitedDevices | undefined;
}

export interface DividedExpertsOptions extends Pick<Assignment, 'epoch' | 'activations'> {
  readonly head: string;
  readonly loaded: LoadedPart;
  readonly holders: readonly ExpertHolder[];
  readonly send: (device: string, frame: ExpertsFrame) => void;
  /** Settles as the sums do, or rejects once the assembly breaks. */
  readonly whileWhole: <Value>(work: Promise<Value>) => Promise<Value>;
  readonly record: (span: RingSpan) => void;
}

/** A request to a device whose sums are awaited. */
interface Asked extends Pick<ExpertsFrame, 'number' | 'layer'> {
  readonly rows: number;
  readonly sentAt: number;
  readonly resolve: (sums: Float32Array) => void;
  readonly reject: (error: Error) => void;
}

/** The rows of a pass that chose experts of a device. */
interface DeviceRows extends ChosenRows {
  readonly choices: readonly (readonly ExpertChoice[])[];
  /** Their places among all rows of the pass. */
  readonly places: readonly number[];
}

/**
 * Asks every holder at once for a layer's experts that tokens chose there, multiplies the head's own meanwhile, and adds up the sums
 * in the order of the holders, whichever comes first: a pass has the same result every time.
 */
export function createDividedExperts(options: DividedExpertsOptions): DividedExperts {
  const { head, loaded, holders, epoch, activations: format, send, whileWhole, record } = options;
  const { hiddenSize } = loaded.part.model;
  const own: ChosenExperts = loaded.part.chosenExperts();
  const layers = mixtureLayers(loaded);
  /** By layer with experts, the index of each one's holder. */
  const holderOf = layers.map((_, place) => {
    const found = new Map<number, number>();
    for (const [index, { experts }] of holders.entries())
      for (const expert of experts[place] ?? []) found.set(expert, index);
    return found;
  });
  const asked = new Map<string, Asked>();
  const numbers = new Map<string, number>();

  const ask = (device: string, layer: number, { values, choices }: DeviceRows): Promise<Float32Array> => {
    const number = numbers.get(device) ?? 0;
    numbers.set(device, number + 1);
    const rows = choices.length;
    const sums = new Promise<Float32Array>((resolve, reject) => {
      asked.set(device, { number, layer, rows, sentAt: clock(), resolve, reject });
    });
    const payload = packActivations(values, format);
    send(device, { kind: 'experts', epoch, number, layer, rows: choices, format, sentAt: clock(), payload });
    return whileWhole(sums).finally(() => asked.delete(device));
  };

  return {
    has: (layer) => layers.includes(layer),
    async multiply(layer, segments, crossing) {
      const tokens = segments.reduce((sum, one) => sum + one.tokens, 0);
      const states = crossing.subarray(0, tokens * hiddenSize);
      // Values that aren't numbers choose no experts; the output layer reports them.
      if (!allFinite(crossing)) return void states.fill(Number.NaN);
      const routes = crossing.subarray(states.length);
      const all = rowsByHolder(holders.length, {
        ...{ states, routes, tokens, hiddenSize },
        holderOf: holderOf[layers.indexOf(layer)] as ReadonlyMap<number, number>,
      });
      const sums = holders.map(({ device }, index) => {
        const rows = all[index] as DeviceRows;
        return device === head || rows.places.length === 0 ? undefined : ask(device, layer, rows);
      });
      for (const one of sums) one?.catch(() => {}); // awaited below, after the head's own
      if (sums.some((one) => one !== undefined)) await setImmediate(); // sends the requests first
      states.fill(0);
      for (const [index, { device }] of holders.entries()) {
        const rows = all[index] as DeviceRows;
        if (rows.places.length === 0) continue;
        const found = device === head ? own.multiply(layer, rows) : await sums[index];
        addRows(states, found as Float32Array, rows.places, hiddenSize);
      }
    },
    take(frame, from) {
      const { number, layer, rows, payload, sentAt } = frame;
      const one = asked.get(from);
      if (one === undefined) throw new FrameError(`sums ${number} of layer ${layer}, while none are awaited from it`);
      const other = (['number', 'layer', 'rows'] as const).find((part) => frame[part] !== one[part]);
      if (other !== undefined)
        throw new FrameError(`sums ${number} of layer ${layer}, whose ${other} is not that of request ${one.number}`);
      const bytes = activationBytes(rows * hiddenSize, format);
      if (frame.format !== format || payload.length !== bytes)
        throw new FrameError(
          `${payload.length} bytes of ${frame.format} for ${rows} sums; ${bytes} of ${format} are planned`,
        );
      asked.delete(from);
      record({ kind: 'receive', sender: from, bytes: payload.length, request: number, sentAt, receivedAt: clock() });
      const sums = new Float32Array(rows * hiddenSize);
      unpackActivations(payload, format, sums);
      try {
        checkNumbers(sums, from);
        one.resolve(sums);
      } catch (error) {
        one.reject(error as Error);
      }
    },
    awaited() {
      const [longest] = [...asked].sort(([, a], [, b]) => a.sentAt - b.sentAt);
      if (longest === undefined) return undefined;
      return { devices: [longest[0]], seconds: clock() - longest[1].sentAt };
    },
  };
}

interface Routed {
  /** [tokens][hidden] */
  readonly states: Float32Array;
  /** [tokens][used][expert, weight] */
  readonly routes: Float32Array;
  readonly tokens: number;
  readonly hiddenSize: number;
  readonly holderOf: ReadonlyMap<number, number>;
}

/** Tokens by the holders of the experts that they chose. */
function rowsByHolder(count: number, { states, routes, tokens, hiddenSize, holderOf }: Routed): DeviceRows[] {
  const used = routes.length / tokens / ROUTE_NUMBERS;
  const all = Array.from({ length: count }, () => ({ places: [] as number[], choices: [] as ExpertChoice[][] }));
  for (let token = 0; token < tokens; token++)
    for (let slot = 0; slot < used; slot++) {
      const at = (token * used + slot) * ROUTE_NUMBERS;
      const [expert, weight] = [routes[at] as number, routes[at + 1] as number];
      const rows = all[holderOf.get(expert) as number] as (typeof all)[0];
      if (rows.places.at(-1) !== token) {
        rows.places.push(token);
        rows.choices.push([]);
      }
      rows.choices.at(-1)?.push({ expert, weight });
    }
  return all.map(({ places, choices }) => {
    const values = new Float32Array(places.length * hiddenSize);
    for (const [row, place] of places.entries())
      values.set(states.subarray(place * hiddenSize, (place + 1) * hiddenSize), row * hiddenSize);
    return { places, choices, values };
  });
}

function addRows(states: Float32Array, sums: Float32Array, places: readonly number[], hiddenSize: number): void {
  for (const [row, place] of places.entries())
    for (let column = 0; column < hiddenSize; column++) {
      const at = place * hiddenSize + column;
      states[at] = (states[at] as number) + (sums[row * hiddenSize + column] as number);
    }
}
