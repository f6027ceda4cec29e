import type { RunRecorder } from '../../trace/run-recorder.ts';
import type { Transformer } from '../pass/transformer.ts';

/**
 * Wraps a transformer to record when each token was computed: the prompt's parts together are the prefill, and each
 * later call is a token.
 * @param promptTokens tokens of the request's prompt
 */
export function recordTokens(transformer: Transformer, promptTokens: number, recorder: RunRecorder): Transformer {
  const prefillEnd = transformer.position + promptTokens;
  let start: number | undefined;
  return {
    ...transformer,
    get position() {
      return transformer.position;
    },
    evaluate(tokens) {
      const phase = transformer.position < prefillEnd ? 'prefill' : 'decode';
      start ??= performance.now() / 1000;
      const logits = transformer.evaluate(tokens);
      if (transformer.position < prefillEnd) return logits;
      recorder.token(phase, start, performance.now() / 1000);
      start = undefined;
      return logits;
    },
  };
}
