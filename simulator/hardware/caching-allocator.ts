import { CACHING_ALLOCATOR, roundedBytes, segmentBytes } from '../../engine/cost/pytorch-memory.ts';

/** A piece of a segment; neighbours in the segment are linked. */
interface Block {
  readonly segment: Segment;
  bytes: number;
  isFree: boolean;
  before: Block | undefined;
  after: Block | undefined;
}

interface Segment {
  readonly bytes: number;
  readonly isSmall: boolean;
}

/** Memory that was allocated; opaque to callers. */
export type Allocation = object;

/**
 * PyTorch's caching allocator on a GPU, block by block (c10/cuda/CUDACachingAllocator.cpp): the smallest cached block
 * that holds a request is taken and split if enough remains; freed blocks join their free neighbours; where no block
 * fits, CUDA is asked for a segment, and, if it has no room, segments that are all free are returned first.
 */
export class CachingAllocator {
  private readonly free: Record<'small' | 'large', Set<Block>> = { small: new Set(), large: new Set() };
  private reserved = 0;

  /** @param capacity bytes that CUDA gives out */
  constructor(private readonly capacity: number) {}

  /** Bytes taken from CUDA. */
  get reservedBytes(): number {
    return this.reserved;
  }

  /** Allocates; undefined where CUDA is out of memory even after cached segments are returned. */
  allocate(request: number): Allocation | undefined {
    const bytes = roundedBytes(request);
    const isSmall = bytes <= CACHING_ALLOCATOR.smallBytes;
    const block = this.bestFit(bytes, isSmall) ?? this.newSegment(bytes, isSmall);
    if (block === undefined) return undefined;
    this.pool(isSmall).delete(block);
    block.isFree = false;
    this.split(block, bytes);
    return block;
  }

  release(allocation: Allocation): void {
    const block = allocation as Block;
    const pool = this.pool(block.segment.isSmall);
    const { before, after } = block;
    if (after?.isFree) {
      pool.delete(after);
      block.bytes += after.bytes;
      this.link(block, after.after);
    }
    if (before?.isFree) {
      before.bytes += block.bytes;
      this.link(before, block.after);
      return;
    }
    block.isFree = true;
    pool.add(block);
  }

  private pool(isSmall: boolean): Set<Block> {
    return this.free[isSmall ? 'small' : 'large'];
  }

  private bestFit(bytes: number, isSmall: boolean): Block | undefined {
    let best: Block | undefined;
    for (const block of this.pool(isSmall)) {
      if (block.bytes >= bytes && (best === undefined || block.bytes < best.bytes)) best = block;
    }
    return best;
  }

  private newSegment(request: number, isSmall: boolean): Block | undefined {
    const bytes = segmentBytes(request);
    if (this.reserved + bytes > this.capacity) this.returnFreeSegments();
    if (this.reserved + bytes > this.capacity) return undefined;
    this.reserved += bytes;
    return { segment: { bytes, isSmall }, bytes, isFree: true, before: undefined, after: undefined };
  }

  /** A rest stays a block of its own from 512 bytes in the small pool, and from more than 1 MiB in the large one. */
  private split(block: Block, bytes: number): void {
    const { segment } = block;
    const rest = block.bytes - bytes;
    const { roundingBytes, smallBytes } = CACHING_ALLOCATOR;
    if (segment.isSmall ? rest < roundingBytes : rest <= smallBytes) return;
    const remaining: Block = { segment, bytes: rest, isFree: true, before: block, after: undefined };
    this.link(remaining, block.after);
    this.link(block, remaining);
    block.bytes = bytes;
    this.pool(segment.isSmall).add(remaining);
  }

  private link(block: Block, after: Block | undefined): void {
    block.after = after;
    if (after !== undefined) after.before = block;
  }

  private returnFreeSegments(): void {
    for (const pool of Object.values(this.free)) {
      for (const block of pool) {
        if (block.bytes !== block.segment.bytes) continue;
        pool.delete(block);
        this.reserved -= block.bytes;
      }
    }
  }
}
