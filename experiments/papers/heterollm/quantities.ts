import type { ChipActivity } from '../../../engine/cost/energy.ts';
import type { ChipSystemName } from '../../../engine/schedule/tensor-partition/systems.ts';
import type { Answer } from '../comparison.ts';
import { atLength, type Engine, type Engines } from './engines.ts';
import { interferenceOf } from './game.ts';
import { DECODING_PROMPT, HETERO_TENSOR, type Runs } from './machine.ts';
import { largestOrderGain } from './order.ts';

/** The quantities of which figures are composed: results of runs by one answer, in SI. */
export interface Quantities {
  /** Seconds of a prompt. */
  prefill(model: string, tokens: number, system?: ChipSystemName, naive?: boolean): number;
  /** Seconds of a token after a prompt of 256 tokens. */
  decode(model: string, system?: ChipSystemName, naive?: boolean): number;
  /** Joules of a prompt. */
  joules(model: string, tokens: number, system?: ChipSystemName): number;
  /** Activity of GPU and NPU in a prompt. */
  activity(model: string, tokens: number, system?: ChipSystemName): ChipActivity;
  /** Seconds of graph generation. */
  graphs(model: string, tokens: number): number;
  /** A prompt of 256 tokens of Llama-8B next to a game; undefined for predictions, which have no queue. */
  game(system: ChipSystemName): BesideGame | undefined;
  /** Largest speed-up of an NPU's products in its own order over the other (Fig. 5). */
  orderGain(): number;
  /** Seconds of a prompt, and of a token, on another engine (engines.ts). */
  enginePrefill(engine: Engine, model: string, tokens: number): number;
  engineDecode(engine: Engine, model: string): number;
}

/** Seconds of a prompt alone and next to a game, and the game's frames per second meanwhile. */
export interface BesideGame {
  readonly alone: number;
  readonly beside: number;
  readonly frameRate: number;
}

const EIGHT = 'Llama-3-8B';

/**
 * Quantities by one answer. An engine is slower than what its processor reaches by the same factor on any model as on
 * Llama-8B: llama.cpp than the CPU's roofline, the others than GPU-only, by a factor for the prompt's length.
 */
export function quantitiesOf(runs: Runs, answer: Answer, { gains, cpu, chip }: Engines): Quantities {
  const quantities: Quantities = {
    prefill: (model, tokens, system = HETERO_TENSOR, naive = false) =>
      runs({ model, tokens, system, ...(naive && { synchronisation: 'naive' }) }, answer).prefillSeconds,
    decode: (model, system = HETERO_TENSOR, naive = false) =>
      runs({ model, tokens: 256, system, ...(naive && { synchronisation: 'naive' }) }, answer).tokenSeconds,
    joules: (model, tokens, system = HETERO_TENSOR) => runs({ model, tokens, system }, answer).prefillJoules,
    activity: (model, tokens, system = HETERO_TENSOR) => runs({ model, tokens, system }, answer).prefillActivity,
    graphs: (model, tokens) => runs({ model, tokens, system: 'online-prepare' }, answer).graphSeconds,
    game(system) {
      if (answer === 'predicted') return undefined;
      const request = { model: EIGHT, tokens: 256, system };
      const { prefillSeconds: beside, frameRate } = interferenceOf(runs, request);
      return { alone: interferenceOf(runs, request, 0).prefillSeconds, beside, frameRate };
    },
    orderGain: () => largestOrderGain(chip),
    enginePrefill(engine, model, tokens) {
      const bound = (name: string, length: number): number =>
        engine === 'llama.cpp' ? cpu.prefill(name, length) : quantities.prefill(name, length, 'gpu-only');
      const { prefill } = gains[engine];
      const slowness = new Map(
        [...prefill].map(([length, gain]) => [
          length,
          (gain * quantities.prefill(EIGHT, length, 'hetero-layer')) / bound(EIGHT, length),
        ]),
      );
      return atLength(slowness, tokens) * bound(model, tokens);
    },
    engineDecode(engine, model) {
      const bound = (name: string): number =>
        engine === 'llama.cpp' ? cpu.decode(name, DECODING_PROMPT) : quantities.decode(name, 'gpu-only');
      const fitted = gains[engine].decode * quantities.decode(EIGHT);
      return (fitted * bound(model)) / bound(EIGHT);
    },
  };
  return quantities;
}
