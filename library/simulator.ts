/**
 * `@hearth-workbench/hearth/simulator`: a plan replayed event by event, and what its trace says. Runs in Node and in
 * browsers.
 */

export { parseRequests, poissonRequests, type StreamedRequest } from '../engine/batch/request-stream.ts';
export { type PredictedServing, predictServing, type ServingLoad } from '../engine/cost/serving.ts';
export { type DeviceMetrics, type Metrics, metrics } from '../engine/trace/metrics.ts';
export { type ChromeTrace, perfettoTrace } from '../engine/trace/perfetto.ts';
export { type ServedFigures, type ServedRequest, servedFigures } from '../engine/trace/served-requests.ts';
export type { Counter, Lane, Span, TokenInterval, Trace } from '../engine/trace/trace.ts';
export {
  SIMULATED_RECLAIMS,
  type SimulatedReclaim,
  type SimulationOptions,
  type SimulationParts,
  simulatedReclaim,
} from '../simulator/options.ts';
export type { SimulatedDevice, SimulationResult } from '../simulator/result.ts';
export { type ServingOptions, type ServingParts, type ServingResult, simulateServing } from '../simulator/serving.ts';
export { simulate } from '../simulator/simulate.ts';
export type { HostSeconds, ServedPass, SimulatedRequest } from '../simulator/systems/serving.ts';
