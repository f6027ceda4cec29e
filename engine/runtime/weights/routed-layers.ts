import type { Model } from '../../model/model.ts';
import type { PlacedExperts } from './placed-experts.ts';
import type { WeightsLoader } from './transformer-weights.ts';

/** The layers of a model that have experts, by index, with the places of these in its file. */
export function routedLayers(
  { kinds }: Pick<Model, 'kinds'>,
  { expertBytes }: Pick<WeightsLoader, 'expertBytes'>,
): Map<number, PlacedExperts> {
  const layers = new Map<number, PlacedExperts>();
  for (const [layer, { feedForward }] of kinds.entries())
    if (feedForward?.kind === 'experts')
      layers.set(layer, { experts: feedForward.router.experts, matrices: expertBytes(layer) });
  return layers;
}
