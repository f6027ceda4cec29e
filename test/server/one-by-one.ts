import { InputError } from '../../engine/input/input-error.ts';
import type {
  BatchEngine,
  BatchRequest,
  BatchResult,
  GeneratedPiece,
  RunningRequest,
} from '../../engine/runtime/batch/batch-engine.ts';
import type { RewindableModel } from '../../engine/text/conversation.ts';
import { type Generated, generate } from '../../engine/text/generate.ts';
import { topK } from '../../engine/text/sampling/candidates.ts';
import type { Tokenizer } from '../../engine/text/tokenizer.ts';

export interface OneByOneParts {
  readonly model: RewindableModel;
  readonly tokenizer: Pick<Tokenizer, 'bytesOf' | 'stops'>;
}

/** Seconds over which the rate of tokens is taken. */
const RATE_SECONDS = 5;

/**
 * A model with one sequence, which requests use one after another. Beginnings that they share are evaluated once. The
 * hidden state of a token is its number and 1.
 */
export function createOneByOneEngine({ model, tokenizer }: OneByOneParts): BatchEngine {
  const closing = new AbortController();
  let [running, waiting] = [0, 0];
  let last: Promise<unknown> = Promise.resolve();
  /** Tokens in the KV cache. */
  let cached: readonly number[] = [];
  let times: number[] = [];

  const recent = (): number[] => {
    const from = performance.now() / 1000 - RATE_SECONDS;
    times = times.filter((time) => time >= from);
    return times;
  };

  const endingAt = (more: ReadonlySet<number> = new Set()) => ({
    ...tokenizer,
    stops: new Set([...tokenizer.stops, ...more]),
  });

  async function run(request: BatchRequest, emit: (piece: GeneratedPiece) => void): Promise<BatchResult> {
    const { prompt, topLogprobs, sampler } = request;
    const signal = AbortSignal.any([closing.signal, ...(request.signal === undefined ? [] : [request.signal])]);
    if (signal.aborted) return { ...NOTHING, promptTokens: prompt.length, cachedTokens: 0 };
    const promptLogprobs = await probabilitiesOf(model, request);
    if (promptLogprobs !== undefined) cached = prompt;
    // One token at least is evaluated, for its logits.
    const known = Math.min(commonLength(cached, prompt), prompt.length - 1, model.position);
    model.rewind(known);
    cached = prompt.slice(0, known);
    let piece: GeneratedPiece | undefined;
    const flush = (): void => {
      if (piece !== undefined) emit(piece);
      piece = undefined;
    };
    const generated = await generate({
      ...{
        tokenizer: endingAt(request.stopTokens),
        prompt: prompt.slice(known),
        tokens: request.tokens,
        signal,
        stops: request.stops ?? [],
      },
      model: {
        contextLength: model.contextLength - known,
        evaluate(tokens) {
          flush();
          return model.evaluate(tokens);
        },
      },
      sampler(logits, history) {
        const token = sampler(logits, [...prompt.slice(0, known), ...history]);
        times.push(performance.now() / 1000);
        piece = { text: '', token, ...(topLogprobs !== undefined && { logprobs: likely(logits, token, topLogprobs) }) };
        return token;
      },
      onText(text) {
        if (piece !== undefined) piece = { ...piece, text: piece.text + text };
      },
    });
    flush();
    cached = [...prompt, ...generated.tokens].slice(0, model.position);
    return {
      ...generated,
      promptTokens: prompt.length,
      cachedTokens: known,
      ...(promptLogprobs && { promptLogprobs }),
    };
  }

  return {
    submit(request) {
      checkFits(request, model.contextLength);
      const pieces = createPieces();
      waiting++;
      const result = last.then(async () => {
        waiting--;
        running++;
        try {
          return await run(request, pieces.add);
        } finally {
          running--;
          pieces.end();
        }
      });
      last = result.catch(() => {});
      return { result, [Symbol.asyncIterator]: pieces.read };
    },
    embed({ tokens, signal }) {
      const mean = last.then(() => {
        if (closing.signal.aborted || signal?.aborted === true) return undefined;
        return Float32Array.of(tokens.reduce((sum, token) => sum + token, 0) / tokens.length, 1);
      });
      last = mean;
      return mean;
    },
    get load() {
      const tokensPerSecond = recent().length / RATE_SECONDS;
      return { running, waiting, freePages: 1 - running, pages: 1, tokensPerSecond, drafted: 0, accepted: 0 };
    },
    async close() {
      closing.abort();
      await last;
    },
  };
}

/** Log-probabilities of a prompt's tokens from the second on, if they are asked for; all but the last are evaluated. */
async function probabilitiesOf(model: RewindableModel, { prompt, promptLogprobs: most }: BatchRequest) {
  if (most === undefined) return undefined;
  model.rewind(0);
  const found: ReturnType<typeof likely>[] = [];
  for (const [index, next] of prompt.slice(1).entries())
    found.push(likely(await model.evaluate([prompt[index] as number]), next, most));
  return found;
}

const NOTHING: Generated = { text: '', tokens: [], reason: 'interrupt', firstTokenSeconds: undefined, laterSeconds: 0 };

function checkFits({ prompt, tokens }: BatchRequest, context: number): void {
  if (prompt.length + tokens <= context) return;
  throw new InputError('context', `${prompt.length} + ${tokens} tokens, but it has room for ${context}`);
}

/** Logarithms of probabilities, logit − ln Σ e^logit: of the token, then of the most likely ones. */
function likely(logits: Float32Array, token: number, most: number) {
  const highest = topK(logits, 1)[0]?.logit ?? 0;
  const total = highest + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - highest), 0));
  const others = most === 0 ? [] : topK(logits, most).filter((candidate) => candidate.token !== token);
  const all = [{ token, logit: logits[token] as number }, ...others];
  return all.map(({ token, logit }) => ({ token, logprob: logit - total }));
}

/** Pieces that wait for their reader. */
function createPieces() {
  const queue: GeneratedPiece[] = [];
  let ended = false;
  let wake = (): void => {};
  return {
    add(piece: GeneratedPiece): void {
      queue.push(piece);
      wake();
    },
    end(): void {
      ended = true;
      wake();
    },
    async *read(): AsyncGenerator<GeneratedPiece, void> {
      for (;;) {
        const piece = queue.shift();
        if (piece !== undefined) yield piece;
        else if (ended) return;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    },
  } satisfies { add: unknown; end: unknown; read: RunningRequest[typeof Symbol.asyncIterator] };
}

/** The number of tokens at the beginning that two lists share. */
function commonLength(one: readonly number[], other: readonly number[]): number {
  const different = one.findIndex((token, index) => token !== other[index]);
  return different < 0 ? one.length : different;
}
