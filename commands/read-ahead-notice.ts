import { statSync } from 'node:fs';
import { matricesOfExpert } from '../engine/cost/experts/case-of-plan.ts';
import { piecesBehind } from '../engine/cost/experts/predict-experts.ts';
import { formatBytes } from '../engine/input/format.ts';
import type { Model } from '../engine/model/model.ts';
import { expertLayersOf } from '../engine/plan/validate-experts.ts';
import { readKernel } from '../engine/profile/kernel-facts.ts';
import { THIS_HOST } from '../engine/profile/memory/host.ts';

/** The cost of read-ahead is worth a line from this share of the bytes of experts, or of a token's time, on. */
export const WORTH_SAYING = 0.2;

/** A mixture whose weights are mapped, on the machine that computes it. */
export interface MappedMixture {
  readonly file: string;
  readonly model: Model;
  /** Bytes of memory that its weights may take. */
  readonly available: number;
  /** Bytes that the operating system reads ahead of a page fault; `undefined` where nobody says. */
  readonly readAhead: number | undefined;
}

/**
 * Says how much page faults of a mixture that exceeds its memory read besides the experts that tokens choose, as the
 * closed form counts it (piecesBehind), and what to do; `undefined` where it is at most a fifth.
 */
export function readAheadNotice({ file, model, available, readAhead }: MappedMixture): string | undefined {
  const { layers, experts } = expertLayersOf(model, 0, model.layers);
  if (layers === 0 || readAhead === undefined) return undefined;
  const routed = model.tensors.reduce((sum, one) => sum + (one.experts === undefined ? 0 : one.bytes), 0);
  const held = (available - (model.bytes - routed)) / routed;
  if (held >= 1) return undefined;
  const piece = routed / (layers * experts * matricesOfExpert(model));
  const besides = piecesBehind(Math.floor(readAhead / piece), Math.max(0, held));
  if (besides <= WORTH_SAYING) return undefined;
  const factor = (1 + besides).toPrecision(2);
  return `${file}: its ${formatBytes(model.bytes)} exceed the ${formatBytes(available)} that are available. Page faults read ${formatBytes(readAhead)} ahead, about ${factor} times the bytes of the experts that tokens choose; give --memory, which reads these alone, or set read_ahead_kb of its disk to ${Math.max(4, Math.floor(piece / 1024))}`;
}

/** Writes the notice to stderr, for a mixture that is mapped as a whole. */
export function writeReadAheadNotice(file: string, model: Model): void {
  const { readAhead } = readKernel(THIS_HOST, statSync(file).dev);
  const notice = readAheadNotice({ file, model, available: process.availableMemory(), readAhead });
  if (notice !== undefined) process.stderr.write(`${notice}\n`);
}
