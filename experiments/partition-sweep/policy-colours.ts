import type { PolicyName } from './policies.ts';

/** From viridis, so that policies look unlike the schedulers' marks; its end, too light on white, is darker. */
export const POLICY_COLOURS: Readonly<Record<PolicyName, string>> = {
  none: '#440154',
  willneed: '#3b528b',
  populate: '#21918c',
  drop: '#5ec962',
  pinned: '#c8b100',
};
