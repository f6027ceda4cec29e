/** Tokens and memory of a server that evaluates several requests together. */
export interface BatchLimits {
  /** Tokens of a page of keys and values. */
  readonly pageTokens: number;
  /** Most tokens of a pass. */
  readonly passTokens: number;
  /** Most tokens of prompts in a pass in which requests decode: each of them waits that long for its next token. */
  readonly promptTokensBesideDecoding: number;
  /** Most requests that run at the same time, where each keeps states in addition to its pages; default: as pages allow. */
  readonly running?: number;
}

/** The usual tokens of a page, and of a pass: a server's, and those of a simulated one. */
export const PAGE_TOKENS = 64;
export const PASS_TOKENS = 512;

/** The usual prompt tokens of a pass in which others decode: more of them delay the next token of each. */
export const PROMPT_TOKENS_BESIDE_DECODING = 64;

/** A request, in one of three states: waiting, prefilling (`evaluated` < `tokens` − 1), or decoding. */
export interface RequestState {
  /** In the order of arrival: the smaller is the older. */
  readonly id: number;
  readonly promptTokens: number;
  /** Tokens of the prompt, and those generated so far. */
  readonly tokens: number;
  /** The first tokens, whose keys and values are in pages; 0 while it waits. */
  readonly evaluated: number;
  /** Pages of those tokens that no other request uses. */
  readonly ownPages: number;
  /** Its first tokens that others have evaluated, while it waits; fewer than `tokens`. Part of a page is copied. */
  readonly shared: number;
  /** Whole pages of `shared` that no running request uses. */
  readonly idlePages: number;
  readonly isRunning: boolean;
}

/** A request's tokens in a pass: `count` from its first one that isn't evaluated. */
export interface RequestWork {
  readonly id: number;
  readonly count: number;
  /** Whether they were generated. A prompt's tokens and generated ones are never in one work. */
  readonly isGenerated: boolean;
  /** Whether its next token is chosen after the pass. */
  readonly isLast: boolean;
}

export interface NextPass {
  /** Requests that give their pages back and wait again, youngest first. */
  readonly preempted: readonly number[];
  /** Requests that begin, oldest first, each with its `shared` tokens. */
  readonly admitted: readonly number[];
  /** At most one work for each request; generated tokens come first. Empty only without requests, or after preemption. */
  readonly work: readonly RequestWork[];
}

/** A request as the pass is put together. */
interface Running extends Pick<RequestState, 'id' | 'promptTokens' | 'tokens' | 'evaluated' | 'ownPages'> {
  work: RequestWork | undefined;
}

/**
 * Chooses the next pass of a continuous batch (Yu et al. 2022, Orca, Section 3; Kwon et al. 2023, vLLM, Section 4.5).
 *
 * Every request that decodes adds its token; what is left of the pass is for prompts, in chunks (Agrawal et al. 2024,
 * Sarathi-Serve, Section 4). The oldest goes first in everything. If pages run out, the youngest request gives its own
 * back and is evaluated again later; a request that could only take pages from older ones skips the pass. A waiting
 * request is admitted, in the order of arrival, once all its tokens and the next one fit next to what the running ones
 * still have to evaluate. The oldest request therefore always goes on, as long as each fits alone.
 *
 * @param requests in any order
 * @param freePages pages that can be taken, those that are only kept for later requests among them
 */
export function nextPass(requests: readonly RequestState[], freePages: number, limits: BatchLimits): NextPass {
  const pagesOf = (tokens: number): number => Math.ceil(tokens / limits.pageTokens);
  const byAge = requests.toSorted((a, b) => a.id - b.id);
  const running: Running[] = byAge.filter(({ isRunning }) => isRunning).map((one) => ({ ...one, work: undefined }));
  const preempted: number[] = [];
  let free = freePages;

  const pagesFor = ({ evaluated }: Running, count: number): number => pagesOf(evaluated + count) - pagesOf(evaluated);
  /** Preempts requests younger than this one until it can add this many tokens. @returns how many it can add */
  const makeRoom = (one: Running, count: number): number => {
    while (pagesFor(one, count) > free && running.at(-1) !== one) {
      const youngest = running.pop() as Running;
      free += youngest.ownPages + (youngest.work === undefined ? 0 : pagesFor(youngest, youngest.work.count));
      preempted.push(youngest.id);
    }
    const room = (pagesOf(one.evaluated) + free) * limits.pageTokens - one.evaluated;
    return Math.min(count, room);
  };
  const add = (one: Running, wanted: number): number => {
    const count = makeRoom(one, wanted);
    if (count === 0) return 0;
    free -= pagesFor(one, count);
    const [isGenerated, isLast] = [one.evaluated >= one.promptTokens, one.evaluated + count === one.tokens];
    one.work = { id: one.id, count, isGenerated, isLast };
    return count;
  };

  let left = limits.passTokens;
  /** Loops by index, as `running` loses its youngest. */
  for (let i = 0; i < running.length && left > 0; i++) {
    const one = running[i] as Running;
    if (isDecoding(one)) left -= add(one, 1);
  }
  const decoding = running.some(({ work }) => work !== undefined);
  if (decoding) left = Math.min(left, limits.promptTokensBesideDecoding);
  const prefill = (one: Running): void => {
    if (one.work === undefined && left > 0) left -= add(one, Math.min(left, chunkEnd(one) - one.evaluated));
  };
  for (let i = 0; i < running.length; i++) prefill(running[i] as Running);

  const admitted: number[] = [];
  const waiting = preempted.length > 0 ? [] : byAge.filter(({ isRunning }) => !isRunning);
  for (const { shared, idlePages, ...one } of waiting) {
    if (running.length >= (limits.running ?? Number.POSITIVE_INFINITY)) break;
    const reserved = running.reduce((sum, other) => sum + pagesOf(other.tokens + 1) - pagesHeld(other), 0);
    const whole = Math.floor(shared / limits.pageTokens);
    if (left === 0 || pagesOf(one.tokens + 1) - whole + idlePages > free - reserved + extraPage(one)) break;
    free -= idlePages + pagesOf(shared) - whole;
    const begun: Running = { ...one, evaluated: shared, work: undefined };
    running.push(begun);
    admitted.push(one.id);
    prefill(begun);
  }

  const work = running.flatMap((one) => (one.work === undefined ? [] : [one.work]));
  return { preempted, admitted, work: work.toSorted((a, b) => Number(b.isGenerated) - Number(a.isGenerated)) };

  function pagesHeld({ evaluated, work: own }: Running): number {
    return pagesOf(evaluated + (own?.count ?? 0));
  }

  /** A request that is alone needs no page for a token beyond its last. */
  function extraPage({ tokens }: Pick<RequestState, 'tokens'>): number {
    return running.length === 0 ? pagesOf(tokens + 1) - pagesOf(tokens) : 0;
  }
}

/** All tokens but the newest, which was generated, are evaluated. */
function isDecoding({ evaluated, tokens, promptTokens }: Running): boolean {
  return evaluated === tokens - 1 && tokens > promptTokens;
}

/** End of the tokens of one kind: of the prompt, or of those generated before a preemption. */
function chunkEnd({ evaluated, promptTokens, tokens }: Running): number {
  return evaluated < promptTokens ? promptTokens : tokens;
}
