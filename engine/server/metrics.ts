import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ServedModel } from './served-model.ts';
import type { FinishedChoice } from './text-request.ts';

/** Figures of a server, for Prometheus. */
export interface Metrics {
  /** Counts an answered request. */
  answered(path: string, status: number): void;
  /** Counts texts that were written to their end. */
  written(choices: readonly FinishedChoice[]): void;
  /** Counts the tokens of texts that were embedded. */
  embedded(tokens: number): void;
  /** All figures in Prometheus's text format. */
  text(): Promise<string>;
  readonly contentType: string;
}

/** Bounds of seconds per token: from a small model on a GPU to a large one that is read from disk. */
const TOKEN_SECONDS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
const FIRST_TOKEN_SECONDS = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120];

export function createMetrics({ engine }: Pick<ServedModel, 'engine'>): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = (name: string, help: string): Counter => new Counter({ name, help, registers });
  const requests = new Counter({
    ...{ name: 'hearth_requests_total', help: 'Answered requests', registers },
    labelNames: ['path', 'status'],
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
  const gauges: readonly (readonly [keyof ServedModel['engine']['load'], string, string])[] = [
    ['running', 'hearth_texts_running', 'Texts that are being generated'],
    ['waiting', 'hearth_texts_waiting', 'Texts that wait for room'],
    ['freePages', 'hearth_kv_pages_free', 'Pages of the KV cache that no text uses'],
    ['pages', 'hearth_kv_pages', 'Pages of the KV cache'],
    ['tokensPerSecond', 'hearth_tokens_per_second', 'Tokens generated per second, lately'],
    ['drafted', 'hearth_drafted_tokens_total', 'Tokens that were guessed (--draft, --lookup)'],
    ['accepted', 'hearth_accepted_tokens_total', 'Guessed tokens that were right'],
  ];
  for (const [key, name, help] of gauges) {
    new Gauge({
      ...{ name, help, registers },
      collect() {
        this.set(engine.load[key]);
      },
    });
  }
  return {
    answered: (path, status) => requests.inc({ path, status }),
    written(choices) {
      for (const { result } of choices) {
        promptTokens.inc(result.promptTokens);
        cachedTokens.inc(result.cachedTokens);
        generatedTokens.inc(result.tokens.length);
        if (result.firstTokenSeconds !== undefined) firstToken.observe(result.firstTokenSeconds);
        if (result.tokens.length > 1) laterToken.observe(result.laterSeconds / (result.tokens.length - 1));
      }
    },
    embedded: (tokens) => embeddedTokens.inc(tokens),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}
