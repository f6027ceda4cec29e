/**
 * `@hearth-workbench/hearth`: models, clusters, plans, schedulers, the closed forms and the planner. Runs in Node and in
 * browsers.
 */

export { type Breakdown, CAUSES, type Cause, type DeviceBreakdown } from '../engine/cost/breakdown.ts';
export { hasOverlappedForm, type OverlappedPrediction, predictOverlapped } from '../engine/cost/overlap.ts';
export { type Prediction, predict } from '../engine/cost/predict.ts';
export { RECLAIM_POLICIES, type ReclaimPolicy } from '../engine/cost/reclaim.ts';
export { type CatalogueModel, parseModels } from '../engine/gguf/parse-models.ts';
export { type Cluster, createCluster, withDevices } from '../engine/hardware/cluster.ts';
export type { Device } from '../engine/hardware/device.ts';
export { parseCluster } from '../engine/hardware/parse-cluster.ts';
export { type CataloguePart, parseDevices } from '../engine/hardware/parse-devices.ts';
export { namedPart, type PresetDevice, presetCluster, readPreset } from '../engine/hardware/preset-cluster.ts';
export { InputError } from '../engine/input/input-error.ts';
export { type Shape, type UniformShape, uniformShape } from '../engine/model/architecture.ts';
export type { LayerKind } from '../engine/model/layer-kind.ts';
export { MIXES, type Mix } from '../engine/model/mix.ts';
export { createModel, type Model } from '../engine/model/model.ts';
export { createWorkload, type Workload } from '../engine/model/workload.ts';
export { parsePlan } from '../engine/plan/parse-plan.ts';
export { type Plan, type PlanKind, planShares, type Share, type Stage } from '../engine/plan/plan.ts';
export { layersText } from '../engine/plan/plan-text.ts';
export { validatePlan } from '../engine/plan/validate-plan.ts';
export { singleDevice } from '../engine/schedule/baselines/single-device.ts';
export { optimal } from '../engine/schedule/exact/optimal.ts';
export { helmRing } from '../engine/schedule/helm/ring.ts';
export { ringAware } from '../engine/schedule/ring-aware/ring-aware.ts';
export type { NoPlan, Scheduled, SchedulingProblem } from '../engine/schedule/scheduler.ts';
export { tensorPartition } from '../engine/schedule/tensor-partition/tensor-partition.ts';
export { type Answer, answer, type RunnableAnswer, type UnrunnableAnswer } from '../planner/answer.ts';
export { type Change, type UpgradeParts, upgradeParts, upgrades, withoutDevices } from '../planner/changes.ts';
export { type CarriedPlan, type CommandLine, commandLines } from '../planner/command-lines.ts';
export type { Question } from '../planner/question.ts';
export type { SimulatedTimes } from '../planner/simulated-times.ts';
