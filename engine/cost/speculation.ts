import type { ProcessorRates } from '../hardware/device.ts';
import { appendedBytes } from '../model/kept-bytes.ts';
import type { Model } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import { type LayerSeconds, layerSeconds, outputSeconds } from './layer-seconds.ts';
import { generatedProductSeconds } from './products.ts';
import { readTogether } from './used-experts.ts';

/** How a draft model's tokens are proposed and accepted. */
export interface Speculation {
  /** α: probability that the target model accepts a drafted token, given that it accepted those before it; 0 to 1. */
  readonly acceptanceRate: number;
  /** γ: tokens that the draft model proposes at a time, at most. */
  readonly draftTokens: number;
  /**
   * σ: probability that the draft model is sure enough of a token to propose it, given that it proposed those before it;
   * 0 to 1. Default: 1.
   */
  readonly sureRate?: number;
}

/**
 * Tokens that one verification yields on average: (1 − α^(γ + 1)) / (1 − α), and γ + 1 for α = 1 (Leviathan et al. 2023,
 * Eq. 1), with ασ in place of α. The accepted tokens of the draft count, and the one that the target model adds.
 * @throws RangeError unless 0 ≤ α, σ ≤ 1 and γ is a whole number from 0 on
 */
export function expectedTokens({ acceptanceRate, draftTokens, sureRate = 1 }: Speculation): number {
  checkRate('the acceptance rate', acceptanceRate);
  checkRate('the rate of sure tokens', sureRate);
  if (!(Number.isInteger(draftTokens) && draftTokens >= 0))
    throw new RangeError(`${draftTokens} drafted tokens; give a whole number from 0 on`);
  return geometricSum(acceptanceRate * sureRate, draftTokens);
}

function checkRate(what: string, rate: number): void {
  if (!(rate >= 0 && rate <= 1)) throw new RangeError(`${what} is ${rate}; give a probability from 0 to 1`);
}

/** 1 + r + … + r^n, exact for r = 1 too. */
function geometricSum(r: number, n: number): number {
  let sum = 1;
  for (let count = 0; count < n; count++) sum = 1 + r * sum;
  return sum;
}

/** The seconds of the two models that take part in speculative decoding. */
export interface SpeculativeCosts extends Speculation {
  /** TPOT of the draft model. */
  readonly draftSeconds: number;
  /** Seconds in which the target model verifies this many tokens (`predict` with `verifiedTokens`). */
  readonly verifySeconds: (tokens: number) => number;
}

/**
 * TPOT of speculative decoding: (γ t_draft + t_verify(γ + 1)) / ((1 − α^(γ + 1)) / (1 − α)) (Leviathan et al. 2023, the
 * inverse of Theorem 3.8, whose t_verify is the time of one token). Drafting and verifying take turns. A draft that isn't
 * always sure gives n < γ tokens with probability σ^n (1 − σ); the token that it isn't sure of takes its time too.
 * @throws RangeError as `expectedTokens` does
 */
export function speculativeSeconds({ draftSeconds, verifySeconds, ...speculation }: SpeculativeCosts): number {
  const { draftTokens, sureRate = 1 } = speculation;
  const tokens = expectedTokens(speculation);
  let seconds = draftTokens === 0 ? 0 : geometricSum(sureRate, draftTokens - 1) * draftSeconds;
  let goesOn = 1;
  if (sureRate < 1)
    for (let drafted = 0; drafted < draftTokens; drafted++) {
      seconds += goesOn * (1 - sureRate) * verifySeconds(drafted + 1);
      goesOn *= sureRate;
    }
  return (seconds + goesOn * verifySeconds(draftTokens + 1)) / tokens;
}

/** Facts about drafts in a plan: how likely they are accepted, and what passes cost. */
export interface DraftCosts extends Omit<SpeculativeCosts, 'draftTokens'> {
  /** The most tokens to draft at a time. */
  readonly most: number;
}

export interface DraftChoice {
  /** γ; 0: drafts don't pay. */
  readonly draftTokens: number;
  /** TPOT with it. */
  readonly tokenSeconds: number;
}

/** The γ with the least TPOT (`speculativeSeconds`), by trial; the smaller one of equals. */
export function bestDraftTokens({ most, ...costs }: DraftCosts): DraftChoice {
  let best = { draftTokens: 0, tokenSeconds: Number.POSITIVE_INFINITY };
  for (let draftTokens = 0; draftTokens <= most; draftTokens++) {
    const tokenSeconds = speculativeSeconds({ ...costs, draftTokens });
    if (tokenSeconds < best.tokenSeconds) best = { draftTokens, tokenSeconds };
  }
  return best;
}

/** Several consecutive tokens of every request that one pass of a model processes. */
export interface VerifiedTokens {
  readonly model: Model;
  readonly workload: Workload;
  readonly processor: ProcessorRates;
  /** γ + 1 */
  readonly tokens: number;
}

/**
 * Seconds of one layer for all verified tokens. Weights and KV cache are read once, as for one token; products,
 * attention, appended keys and values and elementwise operations grow with the tokens (the terms of `layerSeconds`).
 * Every token attends to `workload.context` tokens.
 */
export function verifyingLayerSeconds(verified: VerifiedTokens): LayerSeconds {
  const { model, workload, processor, tokens } = verified;
  const { batch } = workload;
  const one = layerSeconds(model, workload, processor);
  const attention = one.compute - generatedProductSeconds(model.layer, batch, processor);
  return {
    compute: generatedProductSeconds(model.layer, tokens * batch, processor, 'text') + tokens * attention,
    kvCopy: one.kvCopy + ((tokens - 1) * batch * appendedBytes(model, workload.kvFormat)) / processor.bandwidth,
    memory:
      one.memory +
      (readTogether(model.layer, tokens * batch, 'text') - readTogether(model.layer, batch, 'texts')) /
        processor.bandwidth,
    overhead: layerSeconds(model, { ...workload, batch: tokens * batch }, processor).overhead,
  };
}

/** Seconds of the output layer for all verified tokens. Its weights are read once. */
export function verifyingOutputSeconds({ model, workload, processor, tokens }: VerifiedTokens): LayerSeconds {
  return outputSeconds(model, { ...workload, batch: tokens * workload.batch }, processor);
}
