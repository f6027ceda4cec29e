/** The windows of all devices in every round, in ring order. */
export interface Split {
  /** w: layers of the window; 0 where the device is left out. */
  readonly windows: readonly number[];
  /** n: how many of them are on the GPU. */
  readonly gpuLayers: readonly number[];
}

/** All splits of a round's layers among the devices of a ring, numbered from 0. */
export interface Splits {
  readonly size: number;
  /** @throws RangeError outside 0 … size − 1 */
  at(number: number): Split;
}

export interface SplitsParts {
  readonly rounds: number;
  /** L, a multiple of `rounds`. */
  readonly layers: number;
  /** Number of the model's layers by which the shares of neighbouring splits differ. */
  readonly step: number;
  /** By device in ring order: layers per window that its GPU holds. */
  readonly rooms: readonly number[];
  readonly gpuLevels: GpuLevels;
}

/**
 * Windows w_m ≥ 0 with Σ w_m = L/k (prima.cpp Eqs. 2, 3), in lexicographic order, each with every choice of GPU layers.
 * Windows end at multiples of step/k layers, rounded up to whole ones, or at the end of the round: the remainder of the
 * grid
 * goes to the last device that holds layers. A single device makes no ring, so with more than one round
 * at least two hold layers.
 *
 * Splits are counted from the last device backwards, so that any of them is found by its number without enumerating the
 * others.
 */
export function createSplits({ rounds, layers, step, rooms, gpuLevels }: SplitsParts): Splits {
  const total = layers / rounds;
  const grid = Math.max(1, Math.ceil(step / rounds));
  const ends = Array.from({ length: Math.ceil(total / grid) + 1 }, (_, index) => Math.min(total, index * grid));
  const last = ends.length - 1;
  const holdersNeeded = rounds > 1 ? 2 : 1;
  const choices = rooms.map((room) =>
    Array.from({ length: total + 1 }, (_, layers) => gpuChoices(layers, room, gpuLevels)),
  );
  /** GPU choices of a device whose window lies between two ends. */
  const choicesOf = (device: number, from: number, to: number): readonly number[] =>
    choices[device]?.[(ends[to] as number) - (ends[from] as number)] as readonly number[];
  /** Ways to complete a split from a device on, by its state: see stateOf. */
  const ways = Array.from({ length: rooms.length + 1 }, () => new Float64Array(3 * ends.length));
  for (let holders = holdersNeeded; holders < 3; holders++) (ways.at(-1) as Float64Array)[stateOf(last, holders)] = 1;
  for (let device = rooms.length - 1; device >= 0; device--) {
    const after = ways[device + 1] as Float64Array;
    for (let from = 0; from <= last; from++) {
      for (let holders = 0; holders < 3; holders++) {
        let sum = 0;
        for (let to = from; to <= last; to++) {
          sum += choicesOf(device, from, to).length * (after[nextState(from, to, holders)] as number);
        }
        (ways[device] as Float64Array)[stateOf(from, holders)] = sum;
      }
    }
  }
  const size = (ways[0] as Float64Array)[stateOf(0, 0)] as number;

  return {
    size,
    at(number) {
      if (!(Number.isInteger(number) && number >= 0 && number < size))
        throw new RangeError(`there is no split ${number}; the last of ${size} is ${size - 1}`);
      const windows: number[] = [];
      const gpuLayers: number[] = [];
      let [rest, from, holders] = [number, 0, 0];
      for (let device = 0; device < rooms.length; device++) {
        const after = ways[device + 1] as Float64Array;
        for (let to = from; to <= last; to++) {
          const own = choicesOf(device, from, to);
          const each = after[nextState(from, to, holders)] as number;
          if (rest >= own.length * each) {
            rest -= own.length * each;
            continue;
          }
          windows.push((ends[to] as number) - (ends[from] as number));
          gpuLayers.push(own[Math.floor(rest / each)] as number);
          rest %= each;
          holders = Math.min(2, holders + (to > from ? 1 : 0));
          from = to;
          break;
        }
      }
      return { windows, gpuLayers };
    },
  };
}

/**
 * Number of a split's state before a device: the end reached, and how many devices hold layers, 2 meaning two or more.
 */
function stateOf(end: number, holders: number): number {
  return 3 * end + holders;
}

function nextState(from: number, to: number, holders: number): number {
  return stateOf(to, Math.min(2, holders + (to > from ? 1 : 0)));
}

/** Count of the numbers of GPU layers tried per window: `all`, or this many, evenly from none to as many as fit. */
export type GpuLevels = 'all' | number;

/**
 * Numbers of GPU layers (n) to try in a window of `layers`, ascending and without repetition: all from 0 to as many as
 * fit, or
 * `levels` of them in even steps; a single level is as many as fit.
 * @param room layers per window that the GPU holds
 */
export function gpuChoices(layers: number, room: number, levels: GpuLevels): number[] {
  const most = Math.min(layers, room);
  if (levels === 1) return [most];
  const steps = levels === 'all' ? most : Math.min(most, levels - 1);
  if (steps === 0) return [0];
  return Array.from({ length: steps + 1 }, (_, index) => Math.round((index * most) / steps));
}
