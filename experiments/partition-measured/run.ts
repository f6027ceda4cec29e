import type { PartTimes } from '../../engine/cost/chip/part-times.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { type KernelOptions, openKernels } from '../../engine/kernels/open-kernels.ts';
import { openGpuKernels } from '../../engine/kernels/webgpu/node-gpu.ts';
import type { Model } from '../../engine/model/model.ts';
import { modelOperators } from '../../engine/model/operators.ts';
import type { Quantization } from '../../engine/model/quantization.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { ChipPlan } from '../../engine/plan/plan.ts';
import {
  createPartsProfiler,
  medianParts,
  OTHER_STEPS,
  type PartsProfile,
} from '../../engine/profile/parts-profile.ts';
import { quietSample, type TimedRun, timedRun } from '../../engine/profile/quiet-runs.ts';
import type { Sample } from '../../engine/profile/sample.ts';
import { loadPartitionedTransformer } from '../../engine/runtime/cut/partitioned-transformer.ts';
import { coarseParts } from '../../engine/schedule/tensor-partition/coarse-cuts.ts';
import type { Progress } from '../../engine/terminal/progress.ts';
import { answersOf, type Phase, type PhaseAnswers } from './answers.ts';
import { ALL_STRATEGIES, cutsTokens, machineOf, type PhaseTimes, planOf, type Strategy } from './cuts.ts';
import { type TimesMode, timesByMode } from './modes.ts';

export interface PartitionsToRun {
  readonly file: string;
  readonly kernels: KernelOptions;
  /** The GPU's name; `undefined`: the fastest. */
  readonly device: string | undefined;
  /** A chip, of which this machine takes the place. */
  readonly chip: Cluster;
  /** Lengths of prompts. */
  readonly lengths: readonly number[];
  readonly outputTokens: number;
  /** Runs of each cell; one more comes before them. */
  readonly repeats: number;
  /** Source of the times by which the solver cuts strategies. */
  readonly times: TimesMode;
  /** Measurements of `hearth profile --parts-of`; `undefined`: they are made first. */
  readonly parts: ((model: Model) => PartsProfile) | undefined;
  readonly seed: number;
  readonly progress: (steps: number) => Progress;
}

/** A strategy with a prompt of some length, or decoding. */
export interface PartitionCell extends PhaseAnswers {
  readonly strategy: Strategy;
  readonly phase: Phase;
  /** Tokens of the prompt; 1 in decoding. */
  readonly tokens: number;
  readonly measured: Sample;
}

/** Extra time of a mode's choice, by measured times of parts, over the choice by these; shares. */
export interface Regret {
  readonly mode: TimesMode;
  readonly tokens: number;
  readonly prefill: number;
  readonly decode: number;
}

export interface PartitionsRun {
  readonly model: Model;
  readonly cpu: string;
  readonly gpu: string;
  readonly paces: PartsProfile['paces'];
  readonly cells: readonly PartitionCell[];
  readonly regrets: readonly Regret[];
}

/**
 * Measures parts and what processors take from each other, chooses cuts by them, and runs every strategy in turn. Unless
 * they are given, parts are measured again before each round that counts, since machines become slower and quicker:
 * predictions take the medians, and cuts the first.
 */
export async function runPartitions(asked: PartitionsToRun): Promise<PartitionsRun> {
  const { file, lengths, outputTokens, repeats, seed } = asked;
  const model = modelFromGguf(withFile(file, readGguf));
  const operators = modelOperators(model);
  const format = model.tensors.find(({ role }) => role === 'ffn_down')?.quantization as Quantization;
  const main = openKernels(asked.kernels);
  const gpu = await openGpuKernels({ adapter: asked.device });
  const processors = { main, second: gpu.kernels, format };
  try {
    const parts = coarseParts(operators, lengths);
    const rounds = asked.parts === undefined ? repeats + 1 : 0;
    const bar = asked.progress(
      rounds * (OTHER_STEPS + parts.length) + (repeats + 1) * ALL_STRATEGIES.length * lengths.length,
    );
    const given = asked.parts?.(model);
    const measured = given === undefined ? createPartsProfiler(model, { ...processors, parts }) : async () => given;
    const first = await measured(bar.step);
    const known = await timesOf(first, seed);
    const machine = machineOf(asked.chip, first.rates);
    const chosen = known.get(asked.times);
    if (chosen === undefined)
      throw new InputError('--times', `"${asked.times}" has too few parts to learn from; give more lengths, or "real"`);
    const context = Math.max(...lengths) + outputTokens;
    const cells = lengths.flatMap((tokens) =>
      ALL_STRATEGIES.map((strategy) => {
        const plan = planOf(strategy, { machine, model, promptTokens: tokens, times: chosen });
        const { partition } = plan.stages[0];
        const transformer = loadPartitionedTransformer(file, { main, second: gpu.kernels, partition, context });
        return { strategy, tokens, plan, transformer, prefill: [] as TimedRun[], decode: [] as TimedRun[] };
      }),
    );
    const token = (index: number): number => (7 * index + 1) % model.vocabularySize;
    const again: PartsProfile[] = [];
    for (let repeat = 0; repeat <= repeats; repeat++) {
      if (repeat > 0) again.push(await measured(bar.step));
      for (const { strategy, tokens, transformer, prefill, decode } of cells) {
        bar.step(`${repeat === 0 ? 'first run' : `${repeat} of ${repeats}`}: ${strategy}, ${tokens} tokens`);
        transformer.rewind(0);
        const prompt = Array.from({ length: tokens }, (_, index) => token(index));
        prefill.push(await timedRun(() => transformer.evaluate(prompt)));
        for (let index = 0; index < outputTokens; index++)
          decode.push(await timedRun(() => transformer.evaluate([token(tokens + index)])));
      }
    }
    for (const { transformer } of cells) transformer.close();
    const profile = medianParts(again);
    const judges = await timesOf(profile, seed);
    const judging = { model, machine: machineOf(asked.chip, profile.rates), times: judges.get('real') as PhaseTimes };
    const answers = (plan: ChipPlan, promptTokens: number): Readonly<Record<Phase, PhaseAnswers>> => {
      const workload = createWorkload({ promptTokens, outputTokens, context: promptTokens + outputTokens });
      return answersOf({ ...judging, plan, workload });
    };
    const regrets = lengths.flatMap((promptTokens) => {
      const chosenBy = (times: PhaseTimes) =>
        answers(planOf('chosen by the solver', { ...judging, promptTokens, times }), promptTokens);
      const best = chosenBy(judging.times);
      return [...judges].map(([mode, times]): Regret => {
        const own = chosenBy(times);
        const lost = (phase: Phase): number => own[phase].predicted / best[phase].predicted - 1;
        return { mode, tokens: promptTokens, prefill: lost('prefill'), decode: lost('decode') };
      });
    });
    return {
      model,
      cpu: `${main.name} (${main.instructionSet}), ${main.threads === 1 ? '1 thread' : `${main.threads} threads`}`,
      gpu: gpu.adapter,
      paces: profile.paces,
      regrets,
      cells: cells.flatMap((cell): PartitionCell[] => {
        const { strategy, tokens } = cell;
        const expected = answers(cell.plan, tokens);
        const of = (phase: Phase, warm: number): PartitionCell => ({
          ...{ strategy, phase, tokens: phase === 'decode' ? 1 : tokens },
          ...expected[phase],
          measured: quietSample(cell[phase].slice(warm)),
        });
        const ofPrompt = of('prefill', 1);
        return tokens === lengths[0] && cutsTokens(strategy) ? [of('decode', outputTokens), ofPrompt] : [ofPrompt];
      }),
    };
  } finally {
    main.close();
    gpu.kernels.close();
  }
}

/** The times of a profile's parts, known and learned in each mode. */
async function timesOf({ parts, rates, paces }: PartsProfile, seed: number): Promise<Map<TimesMode, PhaseTimes>> {
  const modes = await timesByMode({ parts, rates, seed });
  const inPhases = (times: PartTimes): PhaseTimes => ({
    prefill: { ...times, paces: paces.prefill },
    decode: { ...times, paces: paces.decode },
  });
  return new Map([...modes].map(([mode, times]) => [mode, inPhases(times)]));
}
