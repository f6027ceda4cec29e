/** Lanes of a workgroup in which subgroups of a known size work by themselves. */
export const LANES = 64;

/**
 * How lanes work together: `subgroups` of a known size, each on work of its own, which never wait for one another; or a
 * whole workgroup on the same work, whose lanes combine values by subgroups of any size, or by workgroup memory alone.
 */
export type LanesTogether = { readonly subgroupSize: number } | 'subgroups' | 'workgroup';

/** The directive that a shader with subgroup operations begins with. */
export function enabling(lanes: LanesTogether): string {
  return lanes === 'workgroup' ? '' : 'enable subgroups;';
}

/** The parameter of an entry point by which `reduction` knows the size of a subgroup. */
export function sizeParameter(lanes: LanesTogether): string {
  return lanes === 'workgroup' ? '' : '@builtin(subgroup_size) size: u32,';
}

const COMBINED = { sum: 'a + b', largest: 'max(a, b)' } as const;
const SUBGROUP = { sum: 'subgroupAdd', largest: 'subgroupMax' } as const;

/**
 * WGSL: `fn NAME(value: f32, lane: u32, size: u32) -> f32` combines one value of each lane of a workgroup of `count`
 * lanes; all lanes get the same result. It may be called once.
 */
export function reduction(
  name: string,
  {
    combines,
    count,
    lanes,
  }: { readonly combines: keyof typeof COMBINED; readonly count: number; readonly lanes: LanesTogether },
): string {
  const combined = COMBINED[combines];
  if (typeof lanes === 'object' && count === lanes.subgroupSize)
    return `fn ${name}(value: f32, lane: u32, size: u32) -> f32 { return ${SUBGROUP[combines]}(value); }`;
  const memory = `var<workgroup> ${name}_: array<f32, ${count}>;`;
  if (lanes === 'workgroup') {
    return `${memory}
fn ${name}(value: f32, lane: u32, size: u32) -> f32 {
  ${name}_[lane] = value;
  for (var half = ${count / 2}u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) {
      let a = ${name}_[lane];
      let b = ${name}_[lane + half];
      ${name}_[lane] = ${combined};
    }
  }
  workgroupBarrier();
  return ${name}_[0];
}`;
  }
  return `${memory}
fn ${name}(value: f32, lane: u32, size: u32) -> f32 {
  let own = ${SUBGROUP[combines]}(value);
  if (lane % size == 0u) { ${name}_[lane / size] = own; }
  workgroupBarrier();
  var a = ${name}_[0];
  for (var i = 1u; i < (${count}u + size - 1u) / size; i++) {
    let b = ${name}_[i];
    a = ${combined};
  }
  return a;
}`;
}
