import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Model } from '../../engine/model/model.ts';
import { type Sample, sampleOf } from '../../engine/profile/sample.ts';
import { loadTransformer } from '../../engine/runtime/load-transformer.ts';
import type { Transformer } from '../../engine/runtime/transformer.ts';
import type { Progress } from '../../engine/terminal/progress.ts';
import { generate } from '../../engine/text/generate.ts';
import { createSampler, SAMPLER_DEFAULTS } from '../../engine/text/sampling/sampler.ts';
import { createSpeculation, type SpeculationOptions } from '../../engine/text/speculation/create-speculation.ts';
import { lookAhead } from '../../engine/text/speculation/look-ahead.ts';
import { createModelDrafter, type ModelDrafter } from '../../engine/text/speculation/model-drafter.ts';
import { createPromptLookup } from '../../engine/text/speculation/prompt-lookup.ts';
import { type Answers, answersOf, CALIBRATED_TOKENS, type MeasuredPasses, type Place } from './machine.ts';
import { standIn } from './stand-in.ts';

/** Tokens at a time; `adaptive`: as many as pay. */
export type Length = number | 'adaptive';

/** What guesses: a stand-in with a known acceptance rate, a model, or a lookup in the text. */
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
}

/** One place, source and length with its three answers. */
export interface SpeculationRow {
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
  /** γ that the answers are for: the length, or what the cost model chooses. */
  readonly draftTokens: number;
  /** `undefined` for lookups, whose drafts differ in length. */
  readonly predictedGain: number | undefined;
  readonly simulatedGain: number | undefined;
  /** Whether the text is the one without drafts. */
  readonly isSame: boolean;
}

export interface SpeculationRun {
  readonly model: Model;
  readonly passes: MeasuredPasses;
  readonly rows: readonly SpeculationRow[];
}

/** The most tokens that the cost model may choose. */
const MOST = 8;
const GREEDY = { ...SAMPLER_DEFAULTS, temperature: 0 };
/** Least passes of a calibration, and seconds for which it goes on: as in a text, the machine's code is then compiled. */
const CALIBRATIONS = 10;
const CALIBRATION_SECONDS = 0.2;

export function stepsOf({ places, sources, lengths, repeats }: Omit<SpeculationCase, 'file'>): number {
  return places.length * sources.length * lengths.length * repeats;
}

/** Runs all cases, each by turns with the text without drafts. */
export async function runSpeculation(
  asked: SpeculationCase,
  { step }: Pick<Progress, 'step'>,
): Promise<SpeculationRun> {
  const model = withFile(asked.file, (source) => modelFromGguf(readGguf(source)));
  const measured: Measured[] = [];
  let passes: MeasuredPasses = { one: Number.NaN, many: Number.NaN, streamed: undefined };
  // The RAM also calibrates what is predicted of streamed weights. Mappings of the file exclude each other's dropping.
  for (const place of ['RAM', 'streamed'] as const) {
    if (place === 'streamed' && !asked.places.includes(place)) continue;
    const kernels = openKernels({ implementation: 'native', threads: asked.threads });
    try {
      const target = open(asked, model, kernels, place);
      const [prompt] = asked.prompts as [readonly number[]];
      const [one, many] = [passSeconds(target, prompt, 1), passSeconds(target, prompt, CALIBRATED_TOKENS)];
      passes = place === 'RAM' ? { ...passes, one, many } : { ...passes, streamed: one };
      if (!asked.places.includes(place)) continue;
      for (const source of asked.sources)
        measured.push(...(await measure({ asked, place, source, target, kernels, step })));
    } finally {
      kernels.close();
    }
  }
  const answers = answersOf(model, longestPrompt(asked) + Math.round(asked.tokens / 2), passes);
  return { model, passes, rows: measured.map((one) => rowOf(one, answers)) };
}

function longestPrompt({ prompts }: SpeculationCase): number {
  return Math.max(...prompts.map(({ length }) => length));
}

function contextOf(asked: SpeculationCase): number {
  return longestPrompt(asked) + asked.tokens + CALIBRATED_TOKENS;
}

function open(asked: SpeculationCase, model: Model, kernels: Kernels, place: Place): Transformer {
  const context = contextOf(asked);
  const policy = { weights: { prefetch: 'none', release: 'drop' }, windowLayers: model.layers } as const;
  return loadTransformer(asked.file, { kernels, context, ...(place === 'streamed' && { policy }) });
}

/** Median seconds of a pass that verifies so many tokens after a prompt, over the later half of passes. */
function passSeconds(model: Transformer, prompt: readonly number[], tokens: number): number {
  const times: number[] = [];
  model.rewind(0);
  model.evaluate(prompt);
  const { position } = model;
  for (let left = CALIBRATION_SECONDS; times.length < CALIBRATIONS || left > 0; left -= times.at(-1) as number) {
    const start = performance.now();
    model.verify(prompt.slice(0, 1).concat(new Array(tokens - 1).fill(1)));
    times.push((performance.now() - start) / 1000);
    model.rewind(position);
  }
  return sampleOf(times.slice(times.length / 2)).median;
}

interface Measured extends Omit<SpeculationRow, 'draftTokens' | 'predictedGain' | 'simulatedGain'> {
  /** Seconds of a token of the draft; `undefined` for lookups. */
  readonly draftSeconds: number | undefined;
}

interface MeasuredCase {
  readonly asked: SpeculationCase;
  readonly place: Place;
  readonly source: Source;
  readonly target: Transformer;
  readonly kernels: Kernels;
  readonly step: (label: string) => void;
}

/** All lengths of one source, with one run without drafts before each that counts. */
async function measure({ asked, place, source, target, kernels, step }: MeasuredCase): Promise<Measured[]> {
  const { prompts, repeats, lengths, seed } = asked;
  const name = source === 'lookup' ? source : 'draft' in source ? 'draft' : `stand-in, α = ${source.acceptanceRate}`;
  const plain = await writeTexts(asked, target);
  const draft = typeof source === 'object' && 'draft' in source ? openDraft(source.draft, asked, kernels) : undefined;
  const drafter = (index: number): ModelDrafter | undefined => {
    if (source === 'lookup' || 'draft' in source) return draft?.drafter;
    return standIn([...(prompts[index] ?? []), ...(plain.texts[index] ?? [])], source.acceptanceRate, seed);
  };
  const write = (length: Length) => writeTexts(asked, target, { drafter, length, looksUp: source === 'lookup' });
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
      draftSeconds: source === 'lookup' ? undefined : (draft?.seconds ?? 0),
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
  /** What guesses at a text, by its place among the texts. */
  readonly drafter: (index: number) => ModelDrafter | undefined;
  readonly length: Length;
  readonly looksUp: boolean;
}

/** Writes all texts. @param drafts `undefined`: token by token */
async function writeTexts(asked: SpeculationCase, model: Transformer, drafts?: Drafts): Promise<Written> {
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

function speculationOf(model: Transformer, { drafter, length, looksUp }: Drafts, index: number): SpeculationOptions {
  return {
    ...{ model, drafter: drafter(index) },
    lookup: looksUp ? createPromptLookup(4) : undefined,
    tokens: length === 'adaptive' ? undefined : length,
  };
}

function openDraft(file: string, asked: SpeculationCase, kernels: Kernels) {
  const model = loadTransformer(file, { kernels, context: contextOf(asked) });
  const [prompt] = asked.prompts as [readonly number[]];
  const seconds = passSeconds(model, prompt, 1);
  model.rewind(0);
  const stream = lookAhead(randomStream(asked.seed, 'sampler'));
  const drafter = createModelDrafter({
    model,
    sampler: () => createSampler(GREEDY, stream.coming()),
    vocabularySize: model.model.vocabularySize,
    stops: asked.stops,
    clock: () => performance.now() / 1000,
  });
  return { drafter, seconds };
}

function rowOf({ draftSeconds, ...measured }: Measured, answers: Answers): SpeculationRow {
  const { place, acceptanceRate, sureRate, length } = measured;
  if (draftSeconds === undefined)
    return {
      ...measured,
      draftTokens: length === 'adaptive' ? 0 : length,
      predictedGain: undefined,
      simulatedGain: undefined,
    };
  const asked = { place, acceptanceRate, sureRate, draftSeconds };
  const draftTokens = length === 'adaptive' ? answers.best(asked, MOST).draftTokens : length;
  return {
    ...measured,
    draftTokens,
    predictedGain: answers.predicted(asked, 0) / answers.predicted(asked, draftTokens),
    simulatedGain: answers.simulated(asked, 0) / answers.simulated(asked, draftTokens),
  };
}
