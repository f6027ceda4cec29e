import { simulateCell } from '../../datasets/lab/answers.ts';
import { planOf } from '../../datasets/lab/cell.ts';
import { layerByLayer } from '../../engine/plan/layer-by-layer.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { countedTokens, type TokenFigures, tokenFigures } from '../../engine/trace/token-figures.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import { cellLimits } from '../lab/cell-limits.ts';
import { runInLab } from '../lab/ring.ts';
import type { LabSession } from '../lab/session.ts';
import { median } from '../report/median.ts';
import { loadsOf, type Residency } from './residency.ts';
import { type RealScene, SEEN } from './scenes.ts';
import { watchResidency } from './watch-residency.ts';

/** Residency and figures of a measured or simulated run. */
export interface SceneAnswer {
  readonly figures: TokenFigures;
  /** Samples, with times in seconds since the start of the trace. */
  readonly seen: readonly Residency[];
  /** Start and end of the counted tokens, seconds since the start of the trace. */
  readonly from: number;
  readonly to: number;
  readonly tokens: number;
  /** Number of times that a layer of the device is loaded per token; median over its layers. */
  readonly loads: number;
}

export interface SceneResult {
  readonly scene: RealScene;
  /** The sampled device's layers, in the order in which a token visits them. */
  readonly layers: readonly number[];
  readonly measured: SceneAnswer;
  readonly simulated: SceneAnswer;
}

/** Runs a scene on the lab and simulates it, sampling the residency of one device in both. */
export async function runScene(session: LabSession, scene: RealScene, tokens: number): Promise<SceneResult> {
  const { lab, model, file, facts } = session;
  const { cell } = scene;
  const { devices } = lab;
  const name = devices[SEEN] as string;
  const diskRates = cell.diskRates.map(session.diskRate);
  const plan = planOf(cell, devices, model);
  const layers = layersOf(plan, name);
  const limits = cellLimits(lab, { cell, model, plan, ownBytes: facts.ownBytes });
  let stop: (() => Residency[]) | undefined;
  const onStart = (parts: readonly string[]): void => {
    stop = watchResidency(parts[SEEN] as string, model, layers);
  };
  let seen: Residency[] = [];
  const run = await runInLab(lab, { model: file, plan, tokens, limits, onStart }).finally(() => {
    seen = stop?.() ?? [];
  });
  const onTrace = seen.map(({ time, shares }) => ({ time: time - run.startedAt, shares }));
  const moments: Residency[] = [];
  const parts = { facts, model, devices, cell, diskRates, tokens };
  const trace = simulateCell(parts, layerByLayer(plan), ({ device, time, residency }) => {
    if (device !== name) return;
    const shares = residency();
    moments.push({ time, shares: layers.map((layer) => shares.get(layer) ?? 0) });
  });
  return {
    scene,
    layers,
    measured: answerOf(run.trace, onTrace),
    simulated: answerOf(trace, moments),
  };
}

function answerOf(trace: Trace, seen: readonly Residency[]): SceneAnswer {
  const tokens = countedTokens(trace);
  const from = tokens[0]?.start ?? 0;
  const to = tokens.at(-1)?.end ?? 0;
  const loads = median(loadsOf(seen, from, to)) / tokens.length;
  return { figures: tokenFigures(trace), seen, from, to, tokens: tokens.length, loads };
}

function layersOf({ stages }: Plan, device: string): number[] {
  const own = stages.filter((stage) => stage.device === device);
  return own.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, index) => from + index));
}
