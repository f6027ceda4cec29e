import { type Model, readBytes } from '../../../engine/model/model.ts';
import { quantile } from '../../../engine/trace/metrics.ts';
import { type Discipline, middle, type Requests, type Round } from './contest.ts';
import type { Limits } from './contestant.ts';

/** Values of all rounds: the median, the quartiles, the smallest and the largest. */
export interface Spread {
  readonly median: number;
  readonly lower: number;
  readonly upper: number;
  readonly least: number;
  readonly most: number;
}

/** A cell of the table. Medians and ratios are over rounds: each ratio is of two turns of the same round. */
export type Cell = (Discipline | Requests) & Figures;

interface Figures {
  readonly type: string;
  readonly threads: number;
  readonly rounds: number;
  /** Tokens per second, median. */
  readonly hearth: number;
  /** Hearth's rate over the limit measured in the same round. */
  readonly share: Spread;
  readonly peers: readonly {
    readonly name: string;
    /** Tokens per second, median. */
    readonly tokensPerSecond: number;
    /** Tokens per second, Hearth / peer. */
    readonly ratio: Spread;
    /** The peer's rate over the limit, with the same bytes and operations for a token. */
    readonly share: Spread;
  }[];
  /** Prefill: multiplications and additions per second; otherwise bytes of weights per second. Median. */
  readonly rate: number;
  /** The memory bandwidth or arithmetic peak with which rates are compared. Median. */
  readonly limit: number;
  /** Share of the threads' possible processor time that Hearth's process got; small on a busy machine. */
  readonly processorShare: number;
}

export interface CellOf {
  readonly discipline: Discipline | Requests;
  readonly type: string;
  readonly threads: number;
  readonly model: Model;
  readonly rounds: readonly Round[];
}

/** Summarises the rounds of one discipline. */
export function cellOf({ discipline, type, threads, model, rounds }: CellOf): Cell {
  const { kind } = discipline;
  const tokens = kind === 'requests' ? discipline.requests * discipline.tokens : discipline.tokens;
  const perToken = tokenWork(discipline, model);
  const limitIn = ({ limits }: Round): number => limitOf(kind, type, limits);
  const shareOf = (secondsOf: (round: Round) => number): Spread =>
    spreadOf(rounds.map((round) => (perToken * tokens) / secondsOf(round) / limitIn(round)));
  const hearth = middle(rounds.map((round) => tokens / round.hearth.seconds));
  const names = [...(rounds[0]?.peers.keys() ?? [])];
  return {
    ...discipline,
    type,
    threads,
    rounds: rounds.length,
    hearth,
    share: shareOf((round) => round.hearth.seconds),
    peers: names.map((name) => {
      const secondsOf = ({ peers }: Round): number => peers.get(name) ?? Number.NaN;
      return {
        name,
        tokensPerSecond: middle(rounds.map((round) => tokens / secondsOf(round))),
        ratio: spreadOf(rounds.map((round) => secondsOf(round) / round.hearth.seconds)),
        share: shareOf(secondsOf),
      };
    }),
    rate: hearth * perToken,
    limit: middle(rounds.map(limitIn)),
    processorShare: middle(rounds.map(({ hearth: turn }) => turn.processorSeconds / (turn.seconds * threads))),
  };
}

/** The limit of a discipline with these weights: bytes per second of reading them, or operations per second. */
export function limitOf(kind: (Discipline | Requests)['kind'], type: string, limits: Limits): number {
  if (kind !== 'prefill') return limits.readBandwidth;
  return type === 'F16' || type === 'BF16' || type === 'F32' ? limits.floatPeak : limits.bytePeak;
}

/** A token's share of the bytes or operations that a discipline takes at least. */
function tokenWork(discipline: Discipline | Requests, model: Model): number {
  switch (discipline.kind) {
    case 'prefill':
      return prefillOperations(model, discipline.tokens);
    case 'decode':
      return decodeBytes(model);
    case 'requests':
      return decodeBytes(model, discipline.requests) / discipline.requests;
  }
}

/** Median, quartiles and extremes; NaN without values. */
export function spreadOf(values: readonly number[]): Spread {
  const at = (share: number): number => quantile(values, share) ?? Number.NaN;
  return { median: at(0.5), lower: at(0.25), upper: at(0.75), least: at(0), most: at(1) };
}

/**
 * Weights that a pass of one token of each text reads: all but the experts that none uses, which all texts choose by
 * chance, and the embedding, of which each reads one row; a tied embedding is read as the output matrix.
 */
export function decodeBytes(model: Model, texts = 1): number {
  const { bytes, layer, layers, tiedEmbeddings, embedding } = model;
  const unused = layers * (layer.bytes - readBytes(layer, texts));
  return bytes - unused - (tiedEmbeddings ? 0 : embedding.bytes);
}

/**
 * Operations of a prompt: for each token 2 per matrix element of the layers, and the attention; for the last token also
 * the output layer.
 */
export function prefillOperations(model: Model, tokens: number): number {
  const of = (flops: ReadonlyMap<unknown, number>): number =>
    [...flops.values()].reduce((sum, value) => sum + value, 0);
  const attention = 4 * model.mean.heads * model.mean.headSize * (tokens / 2);
  return model.layers * (of(model.layer.flops) + attention) + of(model.output.flops) / tokens;
}
