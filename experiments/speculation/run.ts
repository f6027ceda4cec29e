import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Model } from '../../engine/model/model.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import type { Transformer } from '../../engine/runtime/pass/transformer.ts';
import type { Progress } from '../../engine/terminal/progress.ts';
import { runOnLabRing } from './lab-ring.ts';
import { type Answers, answersOf, type MeasuredPasses, type PassTimes, type Place } from './machine.ts';
import { contextOf, longestPrompt, type Measured, measureAll, passTimes, type SpeculationCase } from './measure.ts';

/** One place, source and length with its three answers. */
export interface SpeculationRow extends Omit<Measured, 'draft'> {
  /** γ that the answers are for: the length, or what the cost model chooses. */
  readonly draftTokens: number;
  /** `undefined` for lookups, whose drafts differ in length. */
  readonly predictedGain: number | undefined;
  readonly simulatedGain: number | undefined;
}

export interface SpeculationRun {
  readonly model: Model;
  readonly passes: MeasuredPasses;
  readonly rows: readonly SpeculationRow[];
}

/** The most tokens that the cost model may choose. */
const MOST = 8;

export function stepsOf({ places, sources, lengths, repeats }: Omit<SpeculationCase, 'file'>): number {
  return places.length * sources.length * lengths.length * repeats;
}

/**
 * Runs all cases, each by turns with the text without drafts.
 * @throws InputError that says what this machine lacks for a lab, if a ring is asked for
 */
export async function runSpeculation(
  asked: SpeculationCase,
  { step }: Pick<Progress, 'step'>,
): Promise<SpeculationRun> {
  const model = withFile(asked.file, (source) => modelFromGguf(readGguf(source)));
  const measured: Measured[] = [];
  const passes: Partial<Record<Place, PassTimes>> = {};
  // The RAM also calibrates what is predicted of streamed weights. Mappings of the file exclude each other's dropping.
  for (const place of ['RAM', 'streamed'] as const) {
    if (place === 'streamed' && !asked.places.includes(place)) continue;
    const kernels = openKernels({ implementation: 'native', threads: asked.threads });
    try {
      const target = open(asked, model, kernels, place);
      const times = await passTimes(asked, target);
      passes[place] = times;
      if (!asked.places.includes(place)) continue;
      measured.push(...(await measureAll({ asked, place, target, passes: times, kernels, step })));
    } finally {
      kernels.close();
    }
  }
  if (asked.places.includes('ring')) {
    step('ring');
    const found = await runOnLabRing(asked, model);
    passes.ring = found.passes;
    measured.push(...found.measured);
  }
  const answers = answersOf(model, longestPrompt(asked) + Math.round(asked.tokens / 2), passes);
  return { model, passes, rows: measured.map((one) => rowOf(one, answers)) };
}

function open(asked: SpeculationCase, model: Model, kernels: Kernels, place: Place): Transformer {
  const context = contextOf(asked);
  const policy = { weights: { prefetch: 'none', release: 'drop' }, windowLayers: model.layers } as const;
  return loadTransformer(asked.file, { kernels, context, ...(place === 'streamed' && { policy }) });
}

function rowOf({ draft, ...measured }: Measured, answers: Answers): SpeculationRow {
  const { place, acceptanceRate, sureRate, length } = measured;
  if (draft === undefined)
    return {
      ...measured,
      draftTokens: length === 'adaptive' ? 0 : length,
      predictedGain: undefined,
      simulatedGain: undefined,
    };
  const asked = { place, acceptanceRate, sureRate, ...draft };
  const draftTokens = length === 'adaptive' ? answers.best(asked, MOST).draftTokens : length;
  return {
    ...measured,
    draftTokens,
    predictedGain: answers.predicted(asked, 0) / answers.predicted(asked, draftTokens),
    simulatedGain: answers.simulated(asked, 0) / answers.simulated(asked, draftTokens),
  };
}
