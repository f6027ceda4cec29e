import type { PolicyParameters } from '../../../simulator/hardware/page-cache-policy.ts';
import type { ByteRange } from '../../../simulator/hardware/page-cache-range.ts';
import type { Reader } from '../../../simulator/hardware/page-cache-reclaimer.ts';

interface Extent {
  readonly index: number;
  readonly bytes: number;
  place: 'nowhere' | 'reading' | 'passing' | 'resident';
  pinned: boolean;
  young: boolean;
  referenced: boolean;
  promoted: boolean;
  /** It was in memory before; `age` of the last reclaim, undefined after a release. */
  seen: boolean;
  age: number | undefined;
}

/**
 * The page cache once more, slow and obvious: an array of extents, moved one at a time between lists that are arrays.
 * Methods mirror PageCache's; ranges come back as lists of extents.
 */
export class ReferenceCache {
  readonly extents: Extent[];
  /** Evictable extents, least recent first; `active` only with two lists. */
  inactive: Extent[] = [];
  active: Extent[] = [];
  age = 0;
  swapped = 0;
  stream = { end: -1, length: 0 };
  counters = { read: 0, reloaded: 0, refaulted: 0, reclaimed: 0, released: 0 };
  dropped: number[] = [];

  constructor(
    readonly size: number,
    readonly extentBytes: number,
    readonly parameters: PolicyParameters,
    public limit: number,
  ) {
    this.extents = Array.from({ length: Math.ceil(size / extentBytes) }, (_, index) => ({
      index,
      bytes: Math.min(size, (index + 1) * extentBytes) - index * extentBytes,
      place: 'nowhere',
      pinned: false,
      young: false,
      referenced: false,
      promoted: false,
      seen: false,
      age: undefined,
    }));
  }

  capacity(): number {
    return Math.max(0, this.limit - this.parameters.overhead * this.size) + this.swapped;
  }

  sum(wanted: (extent: Extent) => boolean): number {
    return this.extents.filter(wanted).reduce((sum, { bytes }) => sum + bytes, 0);
  }

  usage(): object {
    return {
      resident: this.sum(({ place }) => place === 'resident' || place === 'passing'),
      pinned: this.sum(({ place, pinned }) => place === 'resident' && pinned),
      reading: this.sum(({ place }) => place === 'reading'),
      capacity: this.capacity(),
      swappedOut: this.swapped,
    };
  }

  /** A letter per extent: d resident, r being read, m missing. */
  map(): string {
    const letters = { nowhere: 'm', reading: 'r', passing: 'd', resident: 'd' };
    return this.extents.map(({ place }) => letters[place]).join('');
  }

  private outward({ from, to }: ByteRange): Extent[] {
    return this.extents.filter(({ index, bytes }) => {
      const start = index * this.extentBytes;
      return from < to && start < to && start + bytes > from;
    });
  }

  private inward({ from, to }: ByteRange): Extent[] {
    return this.extents.filter(({ index, bytes }) => {
      const start = index * this.extentBytes;
      return start >= from && start + bytes <= to;
    });
  }

  private isOverflow(): boolean {
    return this.parameters.kind === 'overflow';
  }

  private charged(): number {
    return this.isOverflow()
      ? this.sum(({ place }) => place === 'resident')
      : this.sum(({ place }) => place === 'resident' || place === 'reading');
  }

  private swapOut(excess: number): void {
    this.swapped += Math.max(0, Math.min(excess, this.parameters.swappable - this.swapped));
  }

  private drop(extent: Extent, cause: 'reclaimed' | 'released'): void {
    this.inactive = this.inactive.filter((other) => other !== extent);
    this.active = this.active.filter((other) => other !== extent);
    Object.assign(extent, { place: 'nowhere', young: false, referenced: false, promoted: false });
    extent.age = cause === 'reclaimed' ? this.age++ : undefined;
    this.counters[cause] += extent.bytes;
    this.dropped.push(extent.index);
  }

  private settle(): { dropped: number[]; shortage: number } {
    this.swapOut(this.charged() - this.capacity());
    const hasVictim = (): boolean => this.inactive.length + this.active.length > 0;
    while (this.charged() > this.capacity() && hasVictim()) this.reclaimOne();
    const held = this.sum(({ place }) => place !== 'nowhere');
    const dropped = this.dropped.sort((a, b) => a - b);
    this.dropped = [];
    return { dropped, shortage: Math.max(0, held - this.capacity()) };
  }

  private reclaimOne(): void {
    if (this.parameters.kind === 'metal') for (const extent of [...this.inactive]) this.drop(extent, 'reclaimed');
    else if (this.isOverflow()) this.drop(this.inactive.at(-1) as Extent, 'reclaimed');
    else if (this.parameters.kind === 'linux') this.drop(this.inactive[0] as Extent, 'reclaimed');
    else this.scanOne();
  }

  /** Two lists: looks at the oldest inactive extent. */
  private scanOne(): void {
    const bytes = (list: Extent[]): number => list.reduce((sum, extent) => sum + extent.bytes, 0);
    const reading = this.sum(({ place }) => place === 'reading');
    while (this.active.length > 0 && bytes(this.active) > bytes(this.inactive) + reading) this.deactivate();
    if (this.inactive.length === 0) this.deactivate();
    const oldest = this.inactive[0] as Extent;
    if (!oldest.young) this.drop(oldest, 'reclaimed');
    else {
      this.inactive.shift();
      oldest.young = false;
      if (oldest.referenced) {
        this.active.push(oldest);
        this.age++;
      } else this.inactive.push(oldest);
      oldest.referenced = true;
    }
  }

  private deactivate(): void {
    const oldest = this.active.shift() as Extent;
    oldest.young = false;
    this.inactive.push(oldest);
  }

  private fits(extent: Extent): boolean {
    const kept = this.sum((other) => other.place === 'resident' && other !== extent);
    this.swapOut(kept + extent.bytes - this.capacity());
    return kept + extent.bytes <= this.capacity();
  }

  private admit(extent: Extent): boolean {
    if (this.isOverflow() && !this.fits(extent)) {
      extent.place = 'passing';
      return false;
    }
    extent.place = 'resident';
    if (extent.promoted) {
      this.active.push(extent);
      this.age++;
    } else this.inactive.push(extent);
    extent.promoted = false;
    return true;
  }

  private touchOne(extent: Extent): void {
    const list = this.inactive;
    if (extent.place === 'passing') {
      if (!this.admit(extent)) this.drop(extent, 'reclaimed');
    } else if (extent.place !== 'resident' || extent.pinned) return;
    else if (this.parameters.kind === 'linux-two-list') extent.young = true;
    else if (this.parameters.kind === 'linux') list.push(...list.splice(list.indexOf(extent), 1));
  }

  touch(range: ByteRange): { dropped: number[]; shortage: number } {
    for (const extent of this.outward(range)) this.touchOne(extent);
    return this.settle();
  }

  startRead(range: ByteRange, reader: Reader): { reads: number[]; dropped: number[]; shortage: number } {
    const asked = this.outward(range);
    if (reader === 'populate') for (const extent of asked) this.touchOne(extent);
    const reads = asked.filter(({ place }) => place === 'nowhere');
    if (reader !== 'willneed' && asked.length > 0) {
      let next = this.extents[(asked.at(-1) as Extent).index + 1];
      const reach = range.to + this.parameters.readAhead;
      while (next?.place === 'nowhere' && next.index * this.extentBytes + next.bytes <= reach) {
        reads.push(next);
        next = this.extents[next.index + 1];
      }
    }
    for (const extent of reads) this.begin(extent, reader);
    return { reads: reads.map(({ index }) => index), ...this.settle() };
  }

  private begin(extent: Extent, reader: Reader): void {
    const toReclaim = Math.max(0, -Math.floor((this.capacity() - this.charged()) / this.extentBytes));
    extent.place = 'reading';
    this.counters.read += extent.bytes;
    if (extent.seen) this.counters.reloaded += extent.bytes;
    if (extent.seen && extent.age !== undefined) this.counters.refaulted += extent.bytes;
    if (this.parameters.kind === 'linux-two-list') this.mark(extent, reader, toReclaim);
    extent.seen = true;
  }

  private mark(extent: Extent, reader: Reader, toReclaim: number): void {
    const { readAhead } = this.parameters;
    const active = this.active.reduce((sum, { bytes }) => sum + bytes, 0) / this.extentBytes;
    extent.promoted = extent.age !== undefined && this.age + toReclaim - extent.age <= active;
    if (reader !== 'populate') return;
    if (this.stream.end !== extent.index) this.stream.length = 0;
    const place = this.stream.length;
    this.stream = { end: extent.index + 1, length: place + 1 };
    extent.young = true;
    // Below 2 MiB of readahead, all but the first window of a stream is promoted.
    if (place >= Math.max(1, Math.floor(readAhead / this.extentBytes))) extent.promoted = true;
    else extent.referenced = !extent.promoted;
  }

  finishRead(range: ByteRange): void {
    for (const extent of this.inward(range)) {
      if (extent.place !== 'reading') continue;
      if (extent.pinned) extent.place = 'resident';
      else this.admit(extent);
    }
  }

  release(range: ByteRange): { dropped: number[]; shortage: number } {
    for (const extent of this.inward(range)) {
      if (extent.place === 'passing' || (extent.place === 'resident' && !extent.pinned)) this.drop(extent, 'released');
    }
    return this.settle();
  }

  pin(range: ByteRange): { dropped: number[]; shortage: number } {
    for (const extent of this.outward(range)) {
      extent.pinned = true;
      if (extent.place === 'passing') extent.place = 'resident';
      this.inactive = this.inactive.filter((other) => other !== extent);
      this.active = this.active.filter((other) => other !== extent);
    }
    return this.settle();
  }

  unpin(range: ByteRange): { dropped: number[]; shortage: number } {
    const freed = this.outward(range).filter(({ pinned, place }) => pinned && place === 'resident');
    for (const extent of this.outward(range)) extent.pinned = false;
    for (const extent of freed) extent.place = 'passing';
    for (const extent of freed) this.admit(extent);
    return this.settle();
  }

  setLimit(limit: number): { dropped: number[]; shortage: number } {
    this.limit = limit;
    return this.settle();
  }
}
