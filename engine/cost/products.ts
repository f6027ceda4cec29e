import type { FlopRates, GeneratedRates, ProcessorRates } from '../hardware/device.ts';
import type { WeightGroup } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import { type Together, usedExperts } from './used-experts.ts';

/** Weights of which every token of some uses all, or experts that have as many tokens each. */
type Products = Pick<WeightGroup, 'flops'>;

/** Σ_q f^q / s^q: seconds of a group's matrix products for one token of every request in the batch. */
export function multiplySeconds(
  group: Products,
  { batch }: Pick<Workload, 'batch'>,
  processor: Pick<ProcessorRates, 'flops'>,
): number {
  let seconds = 0;
  for (const [quantization, flops] of group.flops) seconds += (batch * flops) / processor.flops[quantization];
  return seconds;
}

/**
 * Seconds of a group's products with generated tokens, apart from reading: they are multiplied one by one while the
 * weights are in a cache. Where `passes` was measured, seconds grow in a line between the measured numbers of tokens,
 * and beyond the last at its rate; otherwise tokens after the first run at `promptFlops`, or all at `flops` without it
 * (Eq. 12). Each expert has its own tokens alone.
 */
export function generatedProductSeconds(
  group: WeightGroup,
  tokens: number,
  processor: ProcessorRates,
  together: Together = 'texts',
): number {
  return byExpert(group, tokens, together, (part, count) => generatedSeconds(part, count, processor));
}

function generatedSeconds(group: Products, tokens: number, processor: ProcessorRates): number {
  const { flops, promptFlops = flops, passes } = processor;
  if (passes === undefined || tokens <= 1) return severalSeconds(group, tokens, { first: flops, others: promptFlops });
  const at = (rates: GeneratedRates, count: number): number =>
    severalSeconds(group, count, { first: flops, others: rates.flops });
  const above = passes.generated.find((rates) => rates.tokens >= tokens);
  const below = passes.generated.findLast((rates) => rates.tokens < tokens);
  if (above === undefined) return at(below as GeneratedRates, tokens);
  const low = below === undefined ? 1 : below.tokens;
  const lowSeconds = below === undefined ? multiplySeconds(group, { batch: 1 }, processor) : at(below, low);
  const share = (tokens - low) / (above.tokens - low);
  return lowSeconds + share * (at(above, above.tokens) - lowSeconds);
}

/**
 * Seconds of a group's products with the tokens of prompts, apart from reading. Where `prompts` was measured: a
 * constant for unpacking the weights, and the tokens of whole packs. Otherwise the first token takes as long as it
 * would alone, and the others run at `promptFlops`, or `flops` without it. Each expert has its own tokens alone.
 */
export function promptProductSeconds(group: WeightGroup, tokens: number, processor: ProcessorRates): number {
  return byExpert(group, tokens, 'text', (part, count) => promptSeconds(part, count, processor));
}

/**
 * Seconds of a group of which tokens use experts: `secondsOf` what every token uses, with all of them, and of every
 * expert that any of them uses, with k/D of the tokens in the mean, where D experts are used.
 * @param secondsOf linear in the group's FLOPs, which for experts are those of the k that a token uses
 */
function byExpert(
  group: WeightGroup,
  tokens: number,
  together: Together,
  secondsOf: (part: Products, tokens: number) => number,
): number {
  const all = secondsOf(group, tokens);
  if (tokens <= 1) return all;
  return group.routed.reduce((sum, experts) => {
    const fold = usedExperts(experts, tokens, together) / experts.used;
    return sum - secondsOf(experts, tokens) + fold * secondsOf(experts, tokens / fold);
  }, all);
}

function promptSeconds(group: Products, tokens: number, processor: ProcessorRates): number {
  const { flops, promptFlops = flops, prompts } = processor;
  if (prompts === undefined || tokens === 0)
    return severalSeconds(group, tokens, { first: flops, others: promptFlops });
  const padded = prompts.packTokens * Math.ceil(tokens / prompts.packTokens);
  return (
    multiplySeconds(group, { batch: 1 }, { flops: prompts.unpacking }) +
    multiplySeconds(group, { batch: padded }, { flops: prompts.packed })
  );
}

function severalSeconds(
  group: Products,
  tokens: number,
  { first, others }: { readonly first: FlopRates; readonly others: FlopRates },
): number {
  if (tokens === 0) return 0;
  const seconds = multiplySeconds(group, { batch: 1 }, { flops: first });
  return tokens === 1 ? seconds : seconds + multiplySeconds(group, { batch: tokens - 1 }, { flops: others });
}
