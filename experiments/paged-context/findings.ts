import { enumerate, formatPercent } from '../../engine/input/format.ts';
import type { ContextRow } from './contexts.ts';

/** Whether both lie within a factor of two, the step of Fig. 6.1's axis, or both failed; `undefined` without a print. */
export function agrees({ outputTokens, published }: ContextRow): boolean | undefined {
  if (published === undefined) return undefined;
  if (published === 0 || outputTokens === 0) return published === outputTokens;
  return outputTokens >= published / 2 && outputTokens < 2 * published;
}

/** The findings, in sentences. @param most the model's own limit */
export function contextFindings(rows: readonly ContextRow[], most: number): string[] {
  const helm = rows.filter(({ backend, outputTokens }) => backend.startsWith('helm') && outputTokens > 0);
  const full = helm.filter(({ outputTokens }) => outputTokens === most);
  const printed = rows.filter((row) => agrees(row) !== undefined);
  const matching = printed.filter((row) => agrees(row) === true);
  const further = printed.filter(({ outputTokens, published = 0 }) => published > 0 && outputTokens >= 2 * published);
  const loads = printed.filter(({ outputTokens, published }) => published === 0 && outputTokens > 0);
  const name = ({ backend, model, machine }: ContextRow): string => `${backend} with ${model} on ${machine}`;
  const slowest = helm
    .flatMap((row) => row.times.map((time) => ({ row, time, share: time.waitSeconds / time.seconds })))
    .sort((a, b) => b.share - a.share)[0];
  return [
    `HELM’s paged KV cache reaches the models’ own ${most} tokens in ${full.length} of the ${helm.length} cases that it loads.`,
    ...(printed.length === 0
      ? []
      : [`Of ${printed.length} published limits ${matching.length} are within a factor of two, or fail here as well.`]),
    ...(further.length === 0
      ? []
      : [`Memory alone would let these go on at least twice as far as published: ${enumerate(further.map(name))}.`]),
    ...(loads.length === 0
      ? []
      : [`Published as failed, though by its memory it would load: ${enumerate(loads.map(name))}.`]),
    ...(slowest === undefined || slowest.share === 0
      ? ['Pages are never waited for.']
      : [
          `Prefetching hides copies as long as they are shorter than computing; at worst a token waits for pages ${formatPercent(slowest.share)} of its time (${slowest.row.model} on ${slowest.row.machine}, ${slowest.time.context} tokens).`,
        ]),
  ];
}
