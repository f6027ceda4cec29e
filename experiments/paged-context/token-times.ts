import { predict } from '../../engine/cost/predict.ts';
import { ROOFLINE_RUNTIME } from '../../engine/cost/roofline.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { Span } from '../../engine/trace/trace.ts';
import { simulate } from '../../simulator/simulate.ts';
import type { Loaded, Machine } from '../papers/helm/memory/backends.ts';
import { withoutReloads } from '../papers/helm/memory/without-reloads.ts';

/** A decoded token after a given number of tokens in the KV cache. */
export interface TokenTime {
  readonly context: number;
  /** Simulated TPOT, seconds. */
  readonly seconds: number;
  /** Seconds of the TPOT in which the GPU waits for pages. */
  readonly waitSeconds: number;
  /** Predicted TPOT, without overlap, seconds. */
  readonly predictedSeconds: number;
  /** Bytes of pages copied over the host link per token. */
  readonly copiedBytes: number;
}

/** The first decoded token fills the buffers for pages copied ahead; later tokens are alike. */
const TOKENS = 4;

/** Simulates and predicts a token; `undefined` where the context doesn't fit. */
export function tokenTime(loaded: Loaded, { cluster, model }: Machine, context: number): TokenTime | undefined {
  const { paging, lack, readsAgain } = loaded;
  if (loaded.plan === undefined || lack(context) !== undefined) return undefined;
  const plan = readsAgain ? loaded.plan : withoutReloads(loaded.plan, model);
  const workload = createWorkload({ promptTokens: 1, outputTokens: TOKENS, context });
  const parts = { plan, model, workload, runtime: ROOFLINE_RUNTIME, ...(paging && { paging }) };
  const { trace, outOfMemory } = simulate({ ...parts, cluster, context: 'fixed' });
  const last = trace.tokens.at(-1);
  if (outOfMemory.length > 0 || last === undefined) return undefined;
  const within = ({ start, end }: Span): boolean => start >= last.start - 1e-12 && end <= last.end + 1e-12;
  const own = trace.spans.filter(within);
  const sum = (spans: readonly Span[], of: (span: Span) => number): number =>
    spans.reduce((total, span) => total + of(span), 0);
  return {
    context,
    seconds: last.end - last.start,
    waitSeconds: sum(
      own.filter(({ name }) => name.startsWith('waits for KV')),
      ({ start, end }) => end - start,
    ),
    predictedSeconds: predict({ ...parts, truth: cluster }).tokenSeconds,
    copiedBytes: sum(
      own.filter(({ name }) => /^KV page .* to the GPU$/.test(name)),
      ({ args }) => args.bytes ?? 0,
    ),
  };
}
