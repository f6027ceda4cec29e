import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ExpertReads } from '../experts/expert-reads.ts';
import type { BatchLoad, BatchResult } from '../runtime/batch/batch-engine.ts';
import type { ServedModel } from './served-model.ts';

/** Figures of a server, for Prometheus. */
export interface Metrics {
  /** Counts an answered request. */
  answered(path: string, status: number): void;
  /** Counts a text that ended, also by an interrupt; `undefined`: with an error. */
  written(result: BatchResult | undefined): void;
  /** Counts the tokens of texts that were embedded. */
  embedded(tokens: number): void;
  /** All figures in Prometheus's text format. */
  text(): Promise<string>;
  readonly contentType: string;
}

/** Bounds of seconds per token: from a small model on a GPU to a large one that is read from disk. */
const TOKEN_SECONDS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
const FIRST_TOKEN_SECONDS = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120];

/** Counts of a mixture's experts, where they are read when tokens choose them. */
const EXPERT_FIGURES: readonly (readonly [keyof ExpertReads, string, string])[] = [
  ['needs', 'hearth_experts_needed_total', 'Experts that layers needed, by the tokens of a pass together'],
  ['reads', 'hearth_experts_read_total', 'Experts that were read after a router had chosen them'],
  ['ahead', 'hearth_experts_read_ahead_total', 'Experts that were read ahead of their need'],
  ['wrong', 'hearth_experts_read_for_nothing_total', 'Experts that were read ahead and not needed by the next token'],
  ['bytes', 'hearth_expert_bytes_total', 'Bytes of experts that were read'],
  ['waited', 'hearth_expert_wait_seconds_total', 'Seconds in which nothing was multiplied, since experts were awaited'],
];

export function createMetrics({ engine, expertReads }: Pick<ServedModel, 'engine' | 'expertReads'>): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = (name: string, help: string): Counter => new Counter({ name, help, registers });
  const requests = new Counter({
    ...{ name: 'hearth_requests_total', help: 'Requests; status 499: the connection was closed first', registers },
    labelNames: ['path', 'status'],
  });
  const texts = new Counter({
    ...{ name: 'hearth_texts_total', help: 'Texts that ended, and why', registers },
    labelNames: ['reason'],
  });
  const promptTokens = counter('hearth_prompt_tokens_total', 'Tokens of prompts');
  const cachedTokens = counter('hearth_cached_prompt_tokens_total', 'Tokens of prompts found in the KV cache');
  const generatedTokens = counter('hearth_generated_tokens_total', 'Generated tokens');
  const embeddedTokens = counter('hearth_embedded_tokens_total', 'Tokens of texts that were embedded');
  const firstToken = new Histogram({
    ...{ name: 'hearth_time_to_first_token_seconds', help: 'From the start of a text to its first token', registers },
    buckets: FIRST_TOKEN_SECONDS,
  });
  const laterToken = new Histogram({
    ...{ name: 'hearth_time_per_output_token_seconds', help: 'Mean time of a text per further token', registers },
    buckets: TOKEN_SECONDS,
  });
  const figures: readonly (readonly [keyof BatchLoad, string, string])[] = [
    ['running', 'hearth_texts_running', 'Texts that are being generated'],
    ['waiting', 'hearth_texts_waiting', 'Texts that wait for room'],
    ['freePages', 'hearth_kv_pages_free', 'Pages of the KV cache that no text uses'],
    ['pages', 'hearth_kv_pages', 'Pages of the KV cache'],
    ['tokensPerSecond', 'hearth_tokens_per_second', 'Tokens generated per second, lately'],
    ['drafted', 'hearth_drafted_tokens_total', 'Tokens that were guessed (--draft, --lookup)'],
    ['accepted', 'hearth_accepted_tokens_total', 'Guessed tokens that were right'],
  ];
  for (const [key, name, help] of figures) {
    const figure = { name, help, registers };
    if (name.endsWith('_total'))
      new Counter({
        ...figure,
        collect() {
          this.reset();
          this.inc(engine.load[key]);
        },
      });
    else
      new Gauge({
        ...figure,
        collect() {
          this.set(engine.load[key]);
        },
      });
  }
  if (expertReads !== undefined)
    for (const [key, name, help] of EXPERT_FIGURES)
      new Counter({
        ...{ name, help, registers },
        collect() {
          this.reset();
          this.inc(expertReads[key]);
        },
      });
  return {
    answered: (path, status) => requests.inc({ path, status }),
    written(result) {
      texts.inc({ reason: result?.reason ?? 'error' });
      if (result === undefined) return;
      promptTokens.inc(result.promptTokens);
      cachedTokens.inc(result.cachedTokens);
      generatedTokens.inc(result.tokens.length);
      if (result.firstTokenSeconds !== undefined) firstToken.observe(result.firstTokenSeconds);
      if (result.tokens.length > 1) laterToken.observe(result.laterSeconds / (result.tokens.length - 1));
    },
    embedded: (tokens) => embeddedTokens.inc(tokens),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}
