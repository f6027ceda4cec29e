import type { PassTokens } from '../../engine/experts/routing.ts';
import type { Recorder } from '../../engine/trace/recorder.ts';
import { hold, type Steps } from '../event-loop/effect.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import type { SimulatedSpeculation, SimulationOptions } from '../options.ts';
import { runsOf } from './drafted-runs.ts';

/** Texts of a mixture that are continued together, on one machine or in a ring. */
export interface ExpertTexts {
  readonly simulation: Simulation;
  readonly recorder: Recorder;
  /** The device that drafts. */
  readonly device: string;
  /** Tokens of the prompt, which share a pass; 0: none. */
  readonly promptTokens: number;
  /** Tokens that are decoded. */
  readonly outputTokens: number;
  /** Tokens of a decoding pass that drafts nothing. */
  readonly together: PassTokens;
  /** How tokens are drafted; by default they aren't. */
  readonly drafts?: TextDrafts | undefined;
  /** Runs a pass whose first token of each text is `from`, counted from the text's begin. */
  readonly pass: (phase: 'prefill' | 'decode', tokens: PassTokens, from: number) => Steps;
  /** Called after every decoded token with their number. */
  readonly onToken?: (count: number) => void;
  /** Called after every pass that decodes; the texts end when it returns true. */
  readonly isEnough?: SimulationOptions['isEnough'] | undefined;
}

export interface TextDrafts {
  readonly speculation: SimulatedSpeculation;
  /** Seed of what is accepted. */
  readonly seed: number;
}

/** Runs the prompt's pass, if there is one, and decodes. The tokens of a pass share its seconds equally. */
export function* runExpertTexts(texts: ExpertTexts): Steps {
  const { simulation, recorder, promptTokens, outputTokens, together, drafts, pass } = texts;
  const most = drafts?.speculation.draftTokens ?? 0;
  const sure = runsOf(drafts?.speculation.sureRate ?? 1, drafts?.seed ?? 0, 'sure drafts');
  const accepted = runsOf(drafts?.speculation.acceptanceRate ?? 0, drafts?.seed ?? 0, 'accepted drafts');
  if (promptTokens > 0) {
    const start = simulation.now;
    yield* pass('prefill', { texts: together.texts, tokens: promptTokens }, 0);
    recorder.token({ phase: 'prefill', start, end: simulation.now });
  }
  for (let token = 0; token < outputTokens; ) {
    const start = simulation.now;
    const drafted = sure(Math.min(most, outputTokens - token - 1));
    yield* draft(texts, Math.min(most, drafted + 1));
    const tokens = drafts === undefined ? together.tokens : drafted + 1;
    yield* pass('decode', { texts: together.texts, tokens }, promptTokens + token);
    const given = drafts === undefined ? Math.min(tokens, outputTokens - token) : accepted(drafted) + 1;
    const share = (simulation.now - start) / given;
    for (let index = 0; index < given; index++) {
      recorder.token({ phase: 'decode', start: start + index * share, end: start + (index + 1) * share });
      token += 1;
      texts.onToken?.(token);
    }
    if (texts.isEnough?.(recorder.tokens)) return;
  }
}

function* draft({ simulation, recorder, device, drafts }: ExpertTexts, count: number): Steps {
  const seconds = count * (drafts?.speculation.draftSeconds ?? 0);
  if (seconds === 0) return;
  const start = simulation.now;
  yield hold(seconds);
  recorder.span({ device, lane: 'cpu', cause: 'compute', name: 'draft', start, end: simulation.now, args: {} });
}
