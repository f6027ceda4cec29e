import type { StreamedRequest } from '../../engine/batch/request-stream.ts';
import { type PassLoad, passLoad } from '../../engine/cost/mixed-pass.ts';
import { predictOverlapped } from '../../engine/cost/overlap.ts';
import { predict } from '../../engine/cost/predict.ts';
import type { Runtime } from '../../engine/cost/runtime.ts';
import { type PredictedServing, predictServing, type ServingLoad } from '../../engine/cost/serving.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import type { HostSeconds, ServerLimits } from '../../simulator/systems/serving.ts';

/** A server's plan, and what it runs on. */
export interface Server {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly plan: Plan;
  readonly limits: ServerLimits;
  readonly host: HostSeconds;
  /** Sizes of the program, for a ring whose devices read weights while others compute. */
  readonly overlapped?: Runtime;
}

/** Predicted seconds of a pass on a plan. */
export function passPredictor({ cluster, model, plan, limits, overlapped }: Server): (load: PassLoad) => number {
  const workload = createWorkload({ context: limits.pages * limits.pageTokens });
  const asked = { plan, truth: cluster, model, workload };
  if (overlapped === undefined) return (pass) => predict({ ...asked, pass }).tokenSeconds;
  return (pass) => predictOverlapped({ ...asked, pass, runtime: overlapped }).tokenSeconds;
}

/** Mean figures of requests like these at a demand. */
export function predictedServing(
  server: Server,
  requests: readonly StreamedRequest[],
  demand: ServingLoad['demand'],
): PredictedServing {
  const { limits, host } = server;
  const secondsOf = passPredictor(server);
  const mean = (of: (request: StreamedRequest) => number): number =>
    requests.reduce((sum, request) => sum + of(request), 0) / requests.length;
  const promptTokens = mean((request) => request.promptTokens);
  const outputTokens = mean((request) => request.outputTokens);
  const pages = mean((request) => Math.ceil((request.promptTokens + request.outputTokens) / limits.pageTokens));
  const position = Math.round(promptTokens + outputTokens / 2);
  const generated = (count: number) =>
    Array.from({ length: count }, () => ({ tokens: 1, position, isGenerated: true, isLast: true }));
  const [alone, chunks] = [
    secondsOf(passLoad(generated(1))),
    Math.ceil(promptTokens / limits.promptTokensBesideDecoding),
  ];
  const chunk = { tokens: Math.round(promptTokens / chunks), position: 0, isGenerated: false, isLast: false };
  const beside = secondsOf(passLoad([...generated(1), chunk])) - alone;
  return predictServing({
    demand,
    promptTokens,
    outputTokens,
    most: Math.max(1, Math.floor(limits.pages / pages)),
    decodeSeconds: (count) => secondsOf(passLoad(generated(count))) + host.pass + count * host.token,
    promptSeconds: chunks * beside + host.token,
  });
}
