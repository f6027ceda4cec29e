import { statSync } from 'node:fs';
import { matricesOfExpert } from '../engine/cost/experts/case-of-plan.ts';
import { piecesBehind } from '../engine/cost/experts/predict-experts.ts';
import { formatBytes } from '../engine/input/format.ts';
import type { Model } from '../engine/model/model.ts';
import { cachesExperts, type Plan } from '../engine/plan/plan.ts';
import { expertLayersOf } from '../engine/plan/validate-experts.ts';
import { readKernel } from '../engine/profile/kernel-facts.ts';
import { THIS_HOST } from '../engine/profile/memory/host.ts';
import { memoryOf } from '../planner/best-plan.ts';
import type { Question } from '../planner/question.ts';

/** The cost of read-ahead is worth a line from this share of the bytes of experts on. */
const WORTH_SAYING = 0.2;

/** A mixture whose weights are mapped, on the machine that computes it. */
export interface MappedMixture {
  readonly file: string;
  readonly model: Model;
  /** Bytes of memory that its weights may take. */
  readonly available: number;
  /** Bytes that the operating system reads ahead of a page fault; `undefined` where nobody says. */
  readonly readAhead: number | undefined;
}

/** Bytes of a mixture that tokens choose among. */
function routedBytes({ tensors }: Model): number {
  return tensors.reduce((sum, one) => sum + (one.experts === undefined ? 0 : one.bytes), 0);
}

/**
 * Says how much page faults read besides the experts that tokens choose, as the closed form counts it (piecesBehind), and
 * which read-ahead is just shorter than a matrix; `undefined` where it is at most a fifth.
 * @param held the share of the experts that memory holds
 */
function faultsText(
  model: Model,
  held: number,
  readAhead: number,
): { readonly text: string; readonly kib: number } | undefined {
  const { layers, experts } = expertLayersOf(model, 0, model.layers);
  if (layers === 0 || held >= 1) return undefined;
  const piece = routedBytes(model) / (layers * experts * matricesOfExpert(model));
  const besides = piecesBehind(Math.floor(readAhead / piece), Math.max(0, held));
  if (besides <= WORTH_SAYING) return undefined;
  const factor = (1 + besides).toPrecision(2);
  const text = `${formatBytes(readAhead)} ahead, about ${factor} times the bytes of the experts that tokens choose`;
  return { text, kib: Math.max(4, 4 * Math.floor((piece - 1) / 4096)) };
}

/** Says how much page faults of a mixture that exceeds its memory read besides, and what to do; `undefined` where it is little. */
export function readAheadNotice({ file, model, available, readAhead }: MappedMixture): string | undefined {
  const routed = routedBytes(model);
  const found = readAhead && faultsText(model, (available - (model.bytes - routed)) / routed, readAhead);
  if (!found) return undefined;
  return `${file}: its ${formatBytes(model.bytes)} exceed the ${formatBytes(available)} that are available. Page faults read ${found.text}; give --memory, which reads these alone, or set read_ahead_kb of its disk to ${found.kib}`;
}

/**
 * Says the same of the devices of a plan that state how far they read ahead and leave the experts of a mixture to page
 * faults. Where a plan caches experts, they are read exactly.
 */
export function readAheadLines(question: Question, plan: Plan): string[] {
  if (expertLayersOf(question.model, 0, question.model.layers).layers === 0) return [];
  const cached = cachesExperts(plan) ? plan.weights : {};
  const reads = new Map(memoryOf(question, plan).devices.map((one) => [one.device, one]));
  return question.cluster.devices.flatMap(({ name, disk: { readAhead } }) => {
    const own = reads.get(name);
    if (own === undefined || own.reloadedBytes === 0 || readAhead === undefined || cached[name]?.experts) return [];
    const found = faultsText(question.model, own.ramAvailable / own.ramBytes, readAhead);
    if (found === undefined) return [];
    return [
      `${name}: page faults read ${found.text}: echo ${found.kib} | sudo tee /sys/block/DISK/queue/read_ahead_kb`,
    ];
  });
}

/** Writes the notice to stderr, for a mixture that is mapped as a whole. */
export function writeReadAheadNotice(file: string, model: Model): void {
  const { readAhead } = readKernel(THIS_HOST, statSync(file).dev);
  const notice = readAheadNotice({ file, model, available: process.availableMemory(), readAhead });
  if (notice !== undefined) process.stderr.write(`${notice}\n`);
}
