import type { Vector } from '../vector.ts';
import type { Kernel } from './program.ts';
import type { LanesTogether } from './shaders/lanes.ts';
import type { TileValues } from './shaders/multiply.ts';
import { ELEMENTS } from './shaders/rows.ts';
import type { UploadedMatrix } from './weights-buffers.ts';

/** Resources that dispatches refer to. */
export interface EncodingContext {
  /** How the device's lanes work together. */
  readonly lanes: LanesTogether;
  /** The same, as it appears in the names of kernels. */
  readonly lanesName: string;
  /** Whether shaders may add products of bytes in one instruction. */
  readonly packedDot: boolean;
  /** Whether products of a few tokens read weights by units of 16 bytes, where the format has them. */
  readonly units: boolean;
  /** Whether products of many tokens may be of halves, by matrices that subgroups multiply. */
  readonly halfMatrices: boolean;
  /** Room for this many bytes of halves, which lasts until the next call for the same factor. */
  halves(factor: 'weights' | 'inputs', bytes: number): GPUBuffer;
  /** Type in which tiles of products are kept. */
  readonly tileValues: TileValues;
  matrix(id: number): UploadedMatrix;
  cache(id: number): GPUBuffer;
  /** First value of a vector in the arena. */
  place(vector: Vector): number;
  /** Room for the arguments of embeddings: numbers of tokens. */
  tokens(tokens: readonly number[]): number;
  /** Room for this many values of partial results, which lasts until the next call. */
  scratch(values: number): number;
  /** The same for rounded activations. */
  rounded(words: number): number;
}

/** Workgroups of a dispatch in one dimension. */
const MOST_WORKGROUPS = 65_535;

const kernels = new Map<string, Kernel>();

/** The kernel of this name, whose shader is generated when it is first used. */
export function kernelOf(name: string, code: () => string, extras: NonNullable<Kernel['extras']> = []): Kernel {
  const found = kernels.get(name) ?? { name, code: code(), extras };
  kernels.set(name, found);
  return found;
}

/** Workgroups of a shader that computes `count` values one by one. */
export function elements(count: number): [number, number] {
  return inTwo(Math.ceil(count / ELEMENTS));
}

/** Workgroups in two dimensions, of which the last row may be partly beyond the end. */
export function inTwo(workgroups: number): [number, number] {
  const rows = Math.ceil(workgroups / MOST_WORKGROUPS);
  return [Math.ceil(workgroups / rows), rows];
}

/** Whether both are the same values. */
export function isSame(one: Vector, other: Vector): boolean {
  return one.id === other.id && one.offset === other.offset && one.values.length === other.values.length;
}

/** Whether they have no values in common. */
export function isApart(one: Vector, other: Vector): boolean {
  const isBefore = (a: Vector, b: Vector): boolean => a.offset + a.values.length <= b.offset;
  return one.id !== other.id || isBefore(one, other) || isBefore(other, one);
}
