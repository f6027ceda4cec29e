import type { PublishedCell } from '../../../datasets/published.ts';
import type { ChipSystemName } from '../../../engine/schedule/tensor-partition/systems.ts';
import { type Answer, cellAt } from '../comparison.ts';
import type { Runs } from './machine.ts';

/** The quantities of which figures are composed: results of runs by one answer, in SI. */
export interface Quantities {
  /** Seconds of a prompt. */
  prefill(model: string, tokens: number, system?: ChipSystemName, naive?: boolean): number;
  /** Seconds of a token after a prompt of 256 tokens. */
  decode(model: string, system?: ChipSystemName, naive?: boolean): number;
  /** Joules of a prompt. */
  joules(model: string, tokens: number, system?: ChipSystemName): number;
  /** Seconds of graph generation. */
  graphs(model: string, tokens: number): number;
  /** Seconds of a prompt, and of a token, on another engine: rates of the GPU or CPU fitted to Llama-8B. */
  enginePrefill(engine: Engine, model: string, tokens: number): number;
  engineDecode(engine: Engine, model: string): number;
}

/** Engines that run on one processor, known only by what the paper measures of them. */
export const ENGINES = ['MNN', 'MLC', 'llama.cpp'] as const;
export type Engine = (typeof ENGINES)[number];

/**
 * How many times slower each engine is on Llama-8B, as printed: than Hetero-layer at 256 tokens, and than Hetero-tensor
 * in decoding.
 */
export type EngineGains = Readonly<Record<Engine, { readonly prefill: number; readonly decode: number }>>;

const EIGHT = 'Llama-3-8B';

/**
 * Quantities by one answer; an engine is slower than GPU-only by the same factor on any model and length as on
 * Llama-8B.
 */
export function quantitiesOf(runs: Runs, answer: Answer, engines: EngineGains): Quantities {
  const quantities: Quantities = {
    prefill: (model, tokens, system = 'hetero-tensor', naive = false) =>
      runs({ model, tokens, system, ...(naive && { synchronisation: 'naive' }) }, answer).prefillSeconds,
    decode: (model, system = 'hetero-tensor', naive = false) =>
      runs({ model, tokens: 256, system, ...(naive && { synchronisation: 'naive' }) }, answer).tokenSeconds,
    joules: (model, tokens, system = 'hetero-tensor') => runs({ model, tokens, system }, answer).prefillJoules,
    graphs: (model, tokens) => runs({ model, tokens, system: 'online-prepare' }, answer).graphSeconds,
    enginePrefill(engine, model, tokens) {
      const fitted = engines[engine].prefill * quantities.prefill(EIGHT, 256, 'hetero-layer');
      return (fitted * quantities.prefill(model, tokens, 'gpu-only')) / quantities.prefill(EIGHT, 256, 'gpu-only');
    },
    engineDecode(engine, model) {
      const fitted = engines[engine].decode * quantities.decode(EIGHT);
      return (fitted * quantities.decode(model, 'gpu-only')) / quantities.decode(EIGHT, 'gpu-only');
    },
  };
  return quantities;
}

const NAMES: Readonly<Record<Engine, string>> = { MNN: 'MNN-OpenCL', MLC: 'MLC', 'llama.cpp': 'llama.cpp' };

/** The printed speedups that each engine's two rates are fitted to. @throws RangeError where one isn't on file */
export function engineGains(cells: readonly PublishedCell[]): EngineGains {
  const printed = (table: string, row: string, column: string): number =>
    Number(cellAt(cells, { table, row, column }).value);
  const gains = ENGINES.map((engine) => {
    const prefill = printed('§5.2.1', 'Hetero-layer, Llama-8B, sequence length 256', `speedup over ${NAMES[engine]}`);
    const decode = printed(
      '§5.3',
      'Hetero-tensor, Llama-8B, prompt length 256',
      `decoding speedup over ${NAMES[engine]}`,
    );
    return [engine, { prefill, decode }];
  });
  return Object.fromEntries(gains) as EngineGains;
}
