import type { Model } from '../../../engine/model/model.ts';
import { type Discipline, middle, type Round } from './contest.ts';

/** A cell of the table: medians, and the smallest and largest ratio of a pair of consecutive runs. */
export interface Cell extends Discipline {
  readonly type: string;
  readonly threads: number;
  /** Tokens per second. */
  readonly hearth: number;
  readonly llama?: number;
  /** hearth / llama, round by round. */
  readonly ratio?: { readonly median: number; readonly least: number; readonly most: number };
  /** Decode: bytes of weights per second; prefill: multiplications and additions per second. */
  readonly rate: number;
  /** The memory bandwidth or arithmetic peak with which `rate` is compared. */
  readonly limit: number;
  /** Share of the threads' possible processor time that Hearth's process got; small on a busy machine. */
  readonly processorShare: number;
}

export interface CellOf extends Discipline {
  readonly type: string;
  readonly threads: number;
  readonly model: Model;
  readonly rounds: readonly Round[];
}

/** Summarises the rounds of one discipline. */
export function cellOf({ kind, tokens, type, threads, model, rounds }: CellOf): Cell {
  const perSecond = ({ seconds }: { readonly seconds: number }): number => tokens / seconds;
  const hearth = middle(rounds.map((round) => perSecond(round.hearth)));
  const pairs = rounds.flatMap(({ hearth, llama }) => (llama === undefined ? [] : [{ hearth, llama }]));
  const ratios = pairs.map(({ hearth, llama }) => llama.seconds / hearth.seconds);
  const limitOf = ({ limits }: Round): number => {
    if (kind === 'decode') return limits.readBandwidth;
    return type === 'F16' || type === 'BF16' || type === 'F32' ? limits.floatPeak : limits.bytePeak;
  };
  return {
    kind,
    tokens,
    type,
    threads,
    hearth,
    ...(pairs.length === 0
      ? {}
      : {
          llama: middle(pairs.map(({ llama }) => perSecond(llama))),
          ratio: { median: middle(ratios), least: Math.min(...ratios), most: Math.max(...ratios) },
        }),
    rate: hearth * (kind === 'decode' ? decodeBytes(model) : prefillOperations(model, tokens)),
    limit: middle(rounds.map(limitOf)),
    processorShare: middle(rounds.map(({ hearth: turn }) => turn.processorSeconds / (turn.seconds * threads))),
  };
}

/**
 * Weights that a token reads: all but the embedding, of which it reads one row; a tied embedding is read as the output
 * matrix.
 */
export function decodeBytes(model: Model): number {
  return model.bytes - (model.tiedEmbeddings ? 0 : model.embedding.bytes);
}

/**
 * Operations of a prompt: for each token 2 per matrix element of the layers, and the attention; for the last token also
 * the output layer.
 */
function prefillOperations(model: Model, tokens: number): number {
  const of = (flops: ReadonlyMap<unknown, number>): number =>
    [...flops.values()].reduce((sum, value) => sum + value, 0);
  const attention = 4 * model.heads * model.headSize * (tokens / 2);
  return model.layers * (of(model.layer.flops) + attention) + of(model.output.flops) / tokens;
}
