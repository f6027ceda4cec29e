import { withFile } from '../../engine/gguf/file-source.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { DEFAULT_KV_FORMAT, type KvFormat } from '../../engine/model/kv-format.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { loadTokenizer } from '../../engine/text/load-tokenizer.ts';
import { type Acceptance, acceptance } from './acceptance.ts';
import { firstDocuments } from './grammar/grammar.ts';
import { surprises } from './predictions.ts';
import { documentText } from './tokenizer.ts';

export interface Evaluation {
  readonly documents: number;
  /** Tokens that were predicted: all but the first of each document. */
  readonly tokens: number;
  /** Nats per token that the grammar's own choices are worth, in these documents: what a perfect model would lose. */
  readonly entropy: number;
  /** Nats per token that each model loses. */
  readonly target: number;
  readonly draft: number;
  readonly acceptance: Acceptance;
}

export interface EvaluationSettings {
  readonly documents: number;
  readonly seed: number;
  /** Format of the KV cache. */
  readonly kvCache?: KvFormat;
}

/** Tokens of a document that are a prompt, for acceptance. */
const PROMPT_TOKENS = 16;

/**
 * How well two models predict documents that they weren't trained on, and how often the larger, the target, accepts what
 * the smaller, the draft, proposes.
 */
export function evaluateModels(
  kernels: Kernels,
  paths: { readonly target: string; readonly draft: string },
  { documents: count, seed, kvCache = DEFAULT_KV_FORMAT }: EvaluationSettings,
): Evaluation {
  const tokenizer = loadTokenizer(withFile(paths.target, readGguf));
  const [target, draft] = [paths.target, paths.draft].map((path) => loadTransformer(path, { kernels, kvCache })) as [
    ReturnType<typeof loadTransformer>,
    ReturnType<typeof loadTransformer>,
  ];
  const documents = firstDocuments(seed, 'held-out', count);
  const texts = documents.map((document) =>
    tokenizer.encode(documentText(document), { addSpecial: true, parseSpecial: true }),
  );
  const tokens = texts.reduce((sum, { length }) => sum + length - 1, 0);
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / tokens;
  return {
    documents: count,
    tokens,
    entropy: mean(documents.map(({ nats }) => nats)),
    target: mean(texts.flatMap((text) => surprises(target, text))),
    draft: mean(texts.flatMap((text) => surprises(draft, text))),
    acceptance: acceptance(
      target,
      draft,
      texts.map((text) => text.slice(0, PROMPT_TOKENS)),
      tokenizer.stops,
    ),
  };
}
