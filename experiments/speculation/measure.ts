import { randomStream } from '../../engine/input/random-stream.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { type Sample, sampleOf } from '../../engine/profile/sample.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { generate, type VerifyingModel } from '../../engine/text/generate.ts';
import { createSampler, SAMPLER_DEFAULTS } from '../../engine/text/sampling/sampler.ts';
import { createSpeculation, type SpeculationOptions } from '../../engine/text/speculation/create-speculation.ts';
import { createDraftLength, type DraftLength, LEARNING_SECONDS } from '../../engine/text/speculation/draft-length.ts';
import { lookAhead } from '../../engine/text/speculation/look-ahead.ts';
import { createModelDrafter, type ModelDrafter } from '../../engine/text/speculation/model-drafter.ts';
import { createPassCosts } from '../../engine/text/speculation/pass-costs.ts';
import { createPromptLookup } from '../../engine/text/speculation/prompt-lookup.ts';
import { undelayedSeconds } from '../../engine/text/speculation/undelayed-seconds.ts';
import { type Asked, CALIBRATED_TOKENS, type PassTimes, type Place } from './machine.ts';
import { standIn } from './stand-in.ts';

/** Tokens at a time; `adaptive`: as many as pay. */
export type Length = number | 'adaptive';

/** Source of drafts: a stand-in with a known acceptance rate, a model, or a lookup in the text. */
export type Source = { readonly acceptanceRate: number } | { readonly draft: string } | 'lookup';

export interface SpeculationCase {
  readonly file: string;
  readonly places: readonly Place[];
  readonly sources: readonly Source[];
  readonly lengths: readonly Length[];
  /** Texts that are continued one after another: a measurement is of them all. */
  readonly prompts: readonly (readonly number[])[];
  /** Tokens at which a text ends. */
  readonly stops: ReadonlySet<number>;
  /** The most tokens of each text. */
  readonly tokens: number;
  readonly repeats: number;
  readonly threads: number;
  readonly seed: number;
  /** Folder for the parts of a lab ring's model, on the disk that is throttled. */
  readonly folder: string;
}

const GREEDY = { ...SAMPLER_DEFAULTS, temperature: 0 };
/** Least passes of a calibration, and seconds for which it goes on: as in a text, the machine's code is then compiled. */
const CALIBRATIONS = 10;
const CALIBRATION_SECONDS = 0.2;

export function longestPrompt({ prompts }: SpeculationCase): number {
  return Math.max(...prompts.map(({ length }) => length));
}

/** Tokens of the longest text, and of a calibration after it. */
export function contextOf(asked: SpeculationCase): number {
  return longestPrompt(asked) + asked.tokens + CALIBRATED_TOKENS;
}

/** Median seconds of something, over the later half of its runs. */
async function medianSeconds(run: () => unknown, after: () => void): Promise<number> {
  const times: number[] = [];
  for (let left = CALIBRATION_SECONDS; times.length < CALIBRATIONS || left > 0; left -= times.at(-1) as number) {
    const start = performance.now();
    await run();
    times.push((performance.now() - start) / 1000);
    after();
  }
  return sampleOf(times.slice(times.length / 2)).median;
}

/** Passes that verify one token, and several, after the first prompt. */
export async function passTimes({ prompts }: SpeculationCase, model: VerifyingModel): Promise<PassTimes> {
  const [prompt] = prompts as [readonly number[]];
  model.rewind(0);
  await model.evaluate(prompt);
  const { position } = model;
  const timed = (tokens: number): Promise<number> => {
    const verified = prompt.slice(0, 1).concat(new Array(tokens - 1).fill(1));
    return medianSeconds(
      () => model.verify(verified),
      () => model.rewind(position),
    );
  };
  return { one: await timed(1), many: await timed(CALIBRATED_TOKENS) };
}

/** One place, source and length. */
export interface Measured {
  readonly place: Place;
  readonly source: string;
  readonly length: Length;
  /** α: that of the stand-in, or what was measured with one drafted token. */
  readonly acceptanceRate: number;
  /** σ: 1 of a stand-in, or what was measured with one drafted token. */
  readonly sureRate: number;
  readonly tokenSeconds: Sample;
  /** TPOT without drafts over that with them, run by turns. */
  readonly gain: Sample;
  /** Tokens that a pass gave. */
  readonly passTokens: number;
  /** Whether the text is the one without drafts. */
  readonly isSame: boolean;
  /** Seconds of a token of the draft, and of its reading of a text by the text's tokens; `undefined` for lookups. */
  readonly draft: Pick<Asked, 'draftSeconds' | 'readSeconds'> | undefined;
}

interface MeasuredCase {
  readonly asked: SpeculationCase;
  readonly place: Place;
  readonly target: VerifyingModel;
  /** Passes of the target. */
  readonly passes: PassTimes;
  /** Kernels of the draft. */
  readonly kernels: Kernels;
  readonly step: (label: string) => void;
}

/** All sources and lengths in a place. */
export async function measureAll(measured: MeasuredCase): Promise<Measured[]> {
  const found: Measured[] = [];
  for (const source of measured.asked.sources) found.push(...(await measure(measured, source)));
  return found;
}

/** All lengths of one source, with one run without drafts before each that counts. */
async function measure(
  { asked, place, target, passes, kernels, step }: MeasuredCase,
  source: Source,
): Promise<Measured[]> {
  const { prompts, repeats, lengths, seed } = asked;
  const name = source === 'lookup' ? source : 'draft' in source ? 'draft' : `stand-in, α = ${source.acceptanceRate}`;
  const plain = await writeTexts(asked, target);
  const draft =
    typeof source === 'object' && 'draft' in source ? await openDraft(source.draft, asked, kernels) : undefined;
  const drafter = (index: number): ModelDrafter | undefined => {
    if (source === 'lookup' || 'draft' in source) return draft?.drafter;
    return standIn([...(prompts[index] ?? []), ...(plain.texts[index] ?? [])], source.acceptanceRate, seed);
  };
  const learned = createDraftLength({ tokens: 1, seconds: 0 }, LEARNING_SECONDS);
  learned.know({ tokens: 1, seconds: passes.one });
  learned.know({ tokens: CALIBRATED_TOKENS, seconds: passes.many });
  const write = (length: Length) =>
    writeTexts(asked, target, { drafter, length, learned, looksUp: source === 'lookup' });
  const found = new Map(lengths.map((length) => [length, { seconds: [] as number[], gains: [] as number[] }]));
  const last = new Map<Length, Written>();
  for (let repeat = 0; repeat < repeats; repeat++)
    for (const length of lengths) {
      step(`${place}, ${name}, ${length === 'adaptive' ? length : `${length} drafted`}`);
      const { seconds: without } = await writeTexts(asked, target);
      const own = await (length === 0 ? writeTexts(asked, target) : write(length));
      found.get(length)?.seconds.push(own.seconds / own.later);
      found.get(length)?.gains.push(without / own.seconds);
      last.set(length, own);
    }
  const single = last.get(1) ?? (await write(1));
  const isKnown = typeof source === 'object' && 'acceptanceRate' in source;
  const acceptanceRate = isKnown ? source.acceptanceRate : single.accepted / Math.max(1, single.drafted);
  const sureRate = isKnown ? 1 : single.drafted / Math.max(1, single.passes);
  return lengths.map((length) => {
    const { seconds, gains } = found.get(length) as { seconds: number[]; gains: number[] };
    const own = last.get(length) as Written;
    return {
      ...{ place, source: name, length, acceptanceRate, sureRate },
      tokenSeconds: sampleOf(seconds),
      gain: sampleOf(gains),
      passTokens: own.later / own.passes,
      isSame: own.texts.join() === plain.texts.join(),
      draft:
        source === 'lookup'
          ? undefined
          : {
              draftSeconds: draft?.tokenSeconds ?? 0,
              readSeconds: ((draft?.readSeconds ?? 0) * prompts.length) / own.later,
            },
    };
  });
}

interface Written {
  readonly texts: readonly (readonly number[])[];
  /** Tokens after the first of each text. */
  readonly later: number;
  /** From the first token of each text to its last. */
  readonly seconds: number;
  readonly passes: number;
  readonly drafted: number;
  readonly accepted: number;
}

interface Drafts {
  /** Drafter of a text, by its place among the texts. */
  readonly drafter: (index: number) => ModelDrafter | undefined;
  readonly length: Length;
  /** Experience of adaptive drafts with earlier texts. */
  readonly learned: DraftLength;
  readonly looksUp: boolean;
}

/** Writes all texts. @param drafts `undefined`: token by token */
async function writeTexts(asked: SpeculationCase, model: VerifyingModel, drafts?: Drafts): Promise<Written> {
  const { prompts, tokens, seed, stops } = asked;
  const tokenizer = { bytesOf: () => new Uint8Array(0), stops };
  const texts: (readonly number[])[] = [];
  const sum = { later: 0, seconds: 0, passes: 0, drafted: 0, accepted: 0 };
  for (const [index, prompt] of prompts.entries()) {
    model.rewind(0);
    const speculation = drafts && createSpeculation(speculationOf(model, drafts, index));
    const sampler = createSampler(GREEDY, randomStream(seed, 'sampler'));
    const written = await generate({ model, speculation, tokenizer, prompt, tokens, sampler });
    const later = written.tokens.length - 1;
    const { passes, drafted, accepted } = speculation?.figures ?? { passes: later, drafted: 0, accepted: 0 };
    texts.push(written.tokens);
    sum.later += later;
    sum.seconds += written.laterSeconds;
    sum.passes += passes;
    sum.drafted += drafted;
    sum.accepted += accepted;
  }
  return { texts, ...sum };
}

function speculationOf(model: VerifyingModel, drafts: Drafts, index: number): SpeculationOptions {
  const { drafter, length, learned, looksUp } = drafts;
  return {
    ...{ model, drafter: drafter(index), ...(length === 'adaptive' && { length: learned }) },
    lookup: looksUp ? createPromptLookup(4) : undefined,
    tokens: length === 'adaptive' ? undefined : length,
  };
}

/** Tokens of a draft that is timed. */
const TIMED_DRAFT = 8;

async function openDraft(file: string, asked: SpeculationCase, kernels: Kernels) {
  const model = loadTransformer(file, { kernels, context: contextOf(asked) });
  const [prompt] = asked.prompts as [readonly number[]];
  const readSeconds = await medianSeconds(
    () => model.evaluate(prompt),
    () => model.rewind(0),
  );
  model.evaluate(prompt);
  const { position } = model;
  const timed = { most: TIMED_DRAFT, leastLead: Number.NEGATIVE_INFINITY, ends: new Set<number>() };
  const draftSeconds = await medianSeconds(
    () => model.writeGreedily([1], timed),
    () => model.rewind(position),
  );
  model.rewind(0);
  const stream = lookAhead(randomStream(asked.seed, 'sampler'));
  const costs = createPassCosts();
  costs.add(1, draftSeconds / TIMED_DRAFT);
  costs.add(prompt.length, readSeconds);
  const drafter = createModelDrafter({
    ...{ model, costs },
    sampler: () => createSampler(GREEDY, stream.coming()),
    vocabularySize: model.model.vocabularySize,
    stops: asked.stops,
    clock: undelayedSeconds,
  });
  return { drafter, tokenSeconds: draftSeconds / TIMED_DRAFT, readSeconds };
}
