import type { Mamba } from '../../model/layer-kind.ts';
import type { FamilyFile } from './family.ts';

const MOST_WIDTH = 1_000_000;

/** The sizes that files give of layers with a state. */
export interface StateSpaceSizes {
  /** Tokens that the convolution covers. */
  readonly width: number;
  /** All heads' values together. */
  readonly inner: number;
  readonly stateSize: number;
  /** Heads, and groups of them. */
  readonly heads: number;
  readonly groups: number;
}

/** @throws InputError for numbers that are missing or inconsistent */
export function readStateSpace({ fields, key }: FamilyFile): StateSpaceSizes {
  const count = (name: string): number => fields.count(key(`ssm.${name}`), MOST_WIDTH);
  const [inner, heads, groups] = [count('inner_size'), count('time_step_rank'), count('group_count')];
  const width = count('conv_kernel');
  if (width < 2) fields.fail(key('ssm.conv_kernel'), `is ${width}; at least 2 is needed`);
  if (inner % heads !== 0)
    fields.fail(key('ssm.time_step_rank'), `${heads} heads don’t divide ssm.inner_size ${inner}`);
  if (heads % groups !== 0) fields.fail(key('ssm.group_count'), `${groups} groups don’t divide ${heads} heads`);
  return { width, inner, heads, groups, stateSize: count('state_size') };
}

export function readMamba(file: FamilyFile): Mamba {
  const { width, inner, heads, groups, stateSize } = readStateSpace(file);
  return { kind: 'mamba', heads, headSize: inner / heads, groups, stateSize, width };
}
