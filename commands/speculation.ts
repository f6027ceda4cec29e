import { Option } from 'commander';
import { withFile } from '../engine/gguf/file-source.ts';
import { modelFromGguf } from '../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { transformerSettings } from '../engine/gguf/transformer-settings.ts';
import { threeDigits } from '../engine/input/format.ts';
import { InputError } from '../engine/input/input-error.ts';
import type { Kernels } from '../engine/kernels/kernels.ts';
import type { Model } from '../engine/model/model.ts';
import { createDraftModel } from '../engine/runtime/batch/draft-model.ts';
import type { BatchDraftOptions } from '../engine/runtime/batch/drafting.ts';
import { loadTexts, loadTransformer } from '../engine/runtime/load/load-transformer.ts';
import { kvCachesBytes } from '../engine/runtime/load/transformer-bytes.ts';
import type { Prediction, Transformer } from '../engine/runtime/pass/transformer.ts';
import { readCount } from '../engine/terminal/options.ts';
import type { VerifyingModel } from '../engine/text/generate.ts';
import { loadTokenizer } from '../engine/text/load-tokenizer.ts';
import { createSampler, type SamplerOptions } from '../engine/text/sampling/sampler.ts';
import {
  createSpeculation,
  type MeasuredSpeculation,
  MOST_DRAFTED,
  type SpeculationFigures,
} from '../engine/text/speculation/create-speculation.ts';
import { createDraftLength, LEARNING_SECONDS } from '../engine/text/speculation/draft-length.ts';
import type { LookAhead } from '../engine/text/speculation/look-ahead.ts';
import { createModelDrafter, type ModelDrafter } from '../engine/text/speculation/model-drafter.ts';
import { createPassCosts, type PassCosts } from '../engine/text/speculation/pass-costs.ts';
import { createPromptLookup } from '../engine/text/speculation/prompt-lookup.ts';
import { checkSameVocabulary } from '../engine/text/speculation/same-vocabulary.ts';
import { undelayedSeconds } from '../engine/text/speculation/undelayed-seconds.ts';
import type { Tokenizer } from '../engine/text/tokenizer.ts';

/** Speculative decoding in commands that generate text. */

/** Sources of drafted tokens. */
export interface DraftRequest {
  /** A model with the same vocabulary; `undefined`: none. */
  readonly draft: string | undefined;
  /** Whether the model's own prediction block drafts. */
  readonly own: boolean;
  /** The most last tokens that are looked for in the text; `undefined`: none. */
  readonly lookup: number | undefined;
  /** Tokens at a time; `undefined`: as many as pay. */
  readonly tokens: number | undefined;
}

/** The options as commander passes them. */
export interface DraftTexts {
  readonly draft?: string;
  readonly ownDraft?: boolean;
  /** `true` without a number. */
  readonly lookup?: string | true;
  readonly draftTokens?: string;
}

/** Four words tell where a text repeats itself; a longer run is found by its last four. */
const LOOKUP = 4;
const MOST_LOOKUP = 16;

export const SPECULATION_OPTIONS = {
  draft: new Option(
    '--draft <file>',
    'a small GGUF model with the same vocabulary that drafts tokens, several of which are verified in one pass; output is unchanged',
  ),
  ownDraft: new Option(
    '--own-draft',
    'draft tokens with the block that a model brings to predict further ones (nextn, MTP), on the CPU alone; output is unchanged',
  ),
  lookup: new Option(
    '--lookup [n]',
    `draft tokens by prompt lookup: find the last n tokens earlier in the text and propose what followed (default n: ${LOOKUP}); output is unchanged`,
  ),
  draftTokens: new Option(
    '--draft-tokens <n>',
    'with one of the options before: draft n tokens at a time; in a greedy text a draft model stops at the first token that it isn’t sure of (default: as many as pay, by the tokens accepted and the cost of passes)',
  ),
} as const;

/** Reads the options. @throws InputError */
export function readDrafts({ draft, ownDraft: own = false, lookup, draftTokens }: DraftTexts): DraftRequest {
  if (draftTokens !== undefined && draft === undefined && lookup === undefined && !own)
    throw new InputError('--draft-tokens', 'is used only with --draft or --lookup; add one');
  if (own && draft !== undefined)
    throw new InputError('--own-draft', 'excludes --draft: one model drafts; leave one of them out');
  return {
    ...{ draft, own },
    lookup: lookup === undefined ? undefined : lookup === true ? LOOKUP : readCount('--lookup', lookup, 2, MOST_LOOKUP),
    tokens: draftTokens === undefined ? undefined : readCount('--draft-tokens', draftTokens, 1, MOST_DRAFTED),
  };
}

/** The same for commands that can write a trace. @throws InputError if both are wanted */
export function readTracelessDrafts(texts: DraftTexts & { readonly trace?: string }): DraftRequest {
  const drafts = readDrafts(texts);
  if (texts.trace !== undefined && isDrafting(drafts))
    throw new InputError('--trace', 'records a token for each pass; leave --draft and --lookup out');
  return drafts;
}

/**
 * @param others options by which weights don't all stay where they are mapped
 * @throws InputError if a model's own block is to draft with one of them
 */
export function checkOwnDraft({ own }: DraftRequest, others: Readonly<Record<string, unknown>>): void {
  const given = Object.entries(others).find(([, value]) => value !== undefined);
  if (own && given !== undefined)
    throw new InputError('--own-draft', `drafts with weights that are mapped; leave ${given[0]} out`);
}

function isDrafting({ draft, own, lookup }: DraftRequest): boolean {
  return draft !== undefined || own || lookup !== undefined;
}

export interface DrafterParts {
  readonly request: DraftRequest;
  /** The file of the model that verifies. */
  readonly file: string;
  readonly tokenizer: Tokenizer;
  readonly vocabularySize: number;
  /** Kernels that run the draft model. */
  readonly kernels: () => Kernels;
  /** Tokens of the text at most. */
  readonly context: number;
  readonly sampling: SamplerOptions;
  /** The random numbers of the model's own sampler. */
  readonly stream: LookAhead;
}

/** Opened sources of drafted tokens, and what they need. */
export interface Drafts {
  /** Memory of the draft: weights and KV cache. */
  readonly bytes: number;
  /**
   * @param model with its `prediction`, where that drafts
   * @param earlier tokens of the text that come before the prompt
   */
  speculation(
    model: VerifyingModel & Pick<Transformer, 'prediction'>,
    earlier?: readonly number[],
  ): MeasuredSpeculation;
}

/**
 * Loads the sources of drafted tokens; `undefined` if none is wanted.
 * @throws InputError for a draft that can't be loaded, or has another vocabulary
 */
export function openDrafts(parts: DrafterParts): Drafts | undefined {
  const { request, file } = parts;
  if (!isDrafting(request)) return undefined;
  const draft = request.draft === undefined ? undefined : openDrafter(request.draft, parts);
  const length = createDraftLength({ tokens: 1, seconds: 0 }, LEARNING_SECONDS);
  const modelBytes = withFile(file, ({ size }) => size);
  let own: ModelDrafter | undefined;
  return {
    bytes: draft?.bytes ?? 0,
    speculation: (model, earlier = []) => {
      own ??= model.prediction && ownDrafter(model.prediction, parts);
      return createSpeculation({
        ...{ model, earlier, length, drafter: draft?.drafter ?? own },
        drafterShare: (draft?.fileBytes ?? model.prediction?.bytes ?? 0) / modelBytes,
        lookup: request.lookup === undefined ? undefined : createPromptLookup(request.lookup),
        tokens: request.tokens,
      });
    },
  };
}

interface OpenedDraft {
  readonly drafter: ModelDrafter;
  readonly fileBytes: number;
  readonly bytes: number;
}

function openDrafter(draft: string, parts: DrafterParts): OpenedDraft {
  const { kernels, sampling, stream } = parts;
  const { shape, room, vocabularySize } = checkDraft(draft, parts);
  const model = loadTransformer(draft, { kernels: kernels(), context: room });
  const drafter = createModelDrafter({
    model,
    costs: measuredCosts(model),
    sampler: () => createSampler(sampling, stream.coming()),
    vocabularySize,
    stops: parts.tokenizer.stops,
    clock: undelayedSeconds,
  });
  const fileBytes = withFile(draft, ({ size }) => size);
  return { drafter, fileBytes, bytes: fileBytes + kvCachesBytes(shape, room, 'F16') };
}

/** A drafter that reads the whole text: the states that it reads with it are the model's. */
function ownDrafter(
  prediction: Prediction,
  { sampling, stream, vocabularySize, tokenizer }: DrafterParts,
): ModelDrafter {
  return createModelDrafter({
    model: prediction,
    readsWhole: true,
    sampler: () => createSampler(sampling, stream.coming()),
    vocabularySize,
    stops: tokenizer.stops,
    clock: undelayedSeconds,
  });
}

interface CheckedDraft {
  readonly shape: Model;
  /** Tokens that its context has room for. */
  readonly room: number;
  /** Tokens that both models have. */
  readonly vocabularySize: number;
}

/** @throws InputError for a file that is no model, or one with another vocabulary */
function checkDraft(
  draft: string,
  { file, tokenizer, context, vocabularySize }: Pick<DrafterParts, 'file' | 'tokenizer' | 'context' | 'vocabularySize'>,
): CheckedDraft {
  const gguf = withFile(draft, readGguf);
  checkSameVocabulary({ file: draft, tokenizer: loadTokenizer(gguf) }, { file, tokenizer });
  const shape = modelFromGguf(gguf);
  const trained = transformerSettings(gguf, shape).contextLength;
  const room = Math.min(context, trained);
  return { shape, room, vocabularySize: Math.min(shape.vocabularySize, vocabularySize) };
}

export interface ServedDraftsParts
  extends Pick<DrafterParts, 'request' | 'file' | 'tokenizer' | 'vocabularySize' | 'context'> {
  /** Kernels that run the draft model. */
  readonly kernels: () => Kernels;
  /** Texts of full length whose keys and values have room at the same time. */
  readonly parallel: number;
}

/** Tokens of a text's end that a draft reads at most: others wait for their next tokens meanwhile. */
const SERVED_CONTEXT = 512;

/**
 * Loads the sources of drafted tokens for texts that a server continues together; `undefined` if none is wanted.
 * @throws InputError as openDrafts does
 */
export async function openServedDrafts(parts: ServedDraftsParts): Promise<BatchDraftOptions | undefined> {
  const { request, kernels, context, parallel } = parts;
  if (!isDrafting(request)) return undefined;
  const { draft, lookup, tokens } = request;
  if (draft === undefined) return { lookup, tokens };
  const { room, vocabularySize } = checkDraft(draft, parts);
  const served = Math.min(room, SERVED_CONTEXT);
  // Room for as many tokens as the model's.
  const texts = loadTexts(draft, {
    kernels: kernels(),
    context: served,
    texts: parallel * Math.ceil(context / served),
  });
  const { stops } = parts.tokenizer;
  const model = await createDraftModel({ texts, vocabularySize, stops, clock: undelayedSeconds });
  return { lookup, model, tokens };
}

/** Tokens of readings by which a draft's costs are known before a text begins, the first one unmeasured. */
const MEASURED_TOKENS = [16, 16, 16, 16];
/** Tokens of the drafts by which they are, which prepares the passes of those to come. */
const MEASURED_DRAFT = 4;
const MEASURED_DRAFTS = 6;
/** One measured draft is enough of a model for which it takes longer: a text waits for them. */
const MEASURED_SECONDS = 0.01;

function measuredCosts(model: Transformer): PassCosts {
  const costs = createPassCosts();
  /** @returns seconds */
  const measure = (tokens: number, passes: number, isFirst: boolean, run: () => unknown): number => {
    model.rewind(0);
    const start = undelayedSeconds();
    run();
    const seconds = undelayedSeconds() - start;
    if (!isFirst) costs.add(tokens, seconds / passes);
    return seconds;
  };
  const most = Math.min(MEASURED_DRAFT, model.contextLength);
  const greedily = { most, leastLead: Number.NEGATIVE_INFINITY, ends: new Set<number>() };
  let left = MEASURED_SECONDS;
  for (let draft = 0; draft < MEASURED_DRAFTS && (draft < 2 || left > 0); draft++)
    left -= measure(1, most, draft === 0, () => {
      if (model.writeGreedily([0], greedily) === undefined)
        for (let token = 0; token < most; token++) model.evaluate([0]);
    });
  for (const [index, tokens] of MEASURED_TOKENS.entries())
    if (tokens <= model.contextLength) measure(tokens, 1, index === 0, () => model.evaluate(new Array(tokens).fill(0)));
  model.rewind(0);
  return costs;
}

/** `12 of 20 drafted tokens accepted, 2.3 tokens a pass, ×1.6 with drafts`. @param tokens of the text */
export function describeSpeculation({ passes, drafted, accepted, gain }: SpeculationFigures, tokens: number): string {
  if (drafted === 0) return 'no drafted tokens';
  const perPass = `${threeDigits((tokens - 1) / passes)} tokens a pass`;
  const gained = gain === undefined ? '' : `, ×${threeDigits(gain)} with drafts`;
  return `${accepted} of ${drafted} drafted tokens accepted, ${perPass}${gained}`;
}
