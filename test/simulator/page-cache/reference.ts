import type { ByteRange } from '../../../simulator/page-cache/extents.ts';
import type { PolicyParameters } from '../../../simulator/page-cache/policies.ts';
import type { Reader } from '../../../simulator/page-cache/reclaimer.ts';

interface Extent {
  readonly index: number;
  readonly bytes: number;
  place: 'nowhere' | 'reading' | 'passing' | 'resident';
  pinned: boolean;
  young: boolean;
  referenced: boolean;
  promoted: boolean;
  folios: 'page' | 'several' | 'huge';
  /** Whether it was resident before; `age` is that of its last reclaim, undefined after a release. */
  seen: boolean;
  age: number | undefined;
}

const hasArrived = ({ place }: Extent): boolean => place === 'resident';

/**
 * A slow and obvious page cache: an array of extents, which are moved one at a time between arrays. Methods mirror
 * PageCache's; ranges are returned as lists of extents.
 */
export class ReferenceCache {
  readonly extents: Extent[];
  /**
   * Evictable extents, least recent first. `active` is used only with two lists; `inactive` then includes reads in
   * progress, in the places that they took when they were admitted.
   */
  inactive: Extent[] = [];
  active: Extent[] = [];
  age = 0;
  swapped = 0;
  stream = { end: -1, length: 0 };
  /** The extent that triggers the next readahead. */
  marker = -1;
  /** Bytes to be demoted from the active list, and the statistics of the lists. */
  owed = 0;
  countedActive = 0;
  isActiveTooLong = false;
  counters = { read: 0, reloaded: 0, refaulted: 0, reclaimed: 0, released: 0 };

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
      folios: 'page',
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
  }

  private settle(): void {
    this.swapOut(this.charged() - this.capacity());
    const hasVictim = (): boolean => this.active.length > 0 || this.inactive.some(hasArrived);
    if (this.charged() > this.capacity()) this.count();
    while (this.charged() > this.capacity() && hasVictim()) this.reclaimOne();
  }

  private reclaimOne(): void {
    if (this.parameters.kind === 'metal') for (const extent of [...this.inactive]) this.drop(extent, 'reclaimed');
    else if (this.isOverflow()) this.drop(this.inactive.at(-1) as Extent, 'reclaimed');
    else if (this.parameters.kind === 'linux') this.drop(this.inactive[0] as Extent, 'reclaimed');
    else this.scanOne();
  }

  private bytesOf(list: Extent[]): number {
    return list.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  private listedInactive(): number {
    return this.bytesOf(this.inactive.filter(hasArrived)) + this.sum(({ place }) => place === 'reading');
  }

  private count(): void {
    this.countedActive = this.bytesOf(this.active) / this.extentBytes;
    this.isActiveTooLong = this.bytesOf(this.active) > this.listedInactive();
    if (!this.isActiveTooLong) this.owed = 0;
  }

  /** Two lists: looks at the oldest inactive extent. */
  private scanOne(): void {
    const oldest = this.inactive.find(hasArrived);
    if (oldest === undefined) {
      this.deactivate();
      return;
    }
    // Reads in progress are locked and go to the end.
    const passed = this.inactive.splice(0, this.inactive.indexOf(oldest));
    this.inactive.push(...passed);
    const shortens = this.isActiveTooLong && this.active.length > 0;
    const { folios } = oldest;
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
    if (!shortens) return;
    const batch = { page: 2 ** 17, several: 195 * 2 ** 10, huge: 2 ** 21 };
    const longer = this.bytesOf(this.active) / Math.max(this.extentBytes, this.listedInactive());
    this.owed += (folios === 'huge' ? 1 : Math.max(1, longer)) / batch[folios];
    for (let next = this.active[0]; next !== undefined && this.owed >= 1 / batch[next.folios]; next = this.active[0]) {
      this.owed -= 1 / batch[next.folios];
      this.deactivate();
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
      this.inactive = this.inactive.filter((other) => other !== extent);
      this.active.push(extent);
      this.age++;
    } else if (!this.inactive.includes(extent)) this.inactive.push(extent);
    extent.promoted = false;
    return true;
  }

  private touchOne(extent: Extent): void {
    const list = this.inactive;
    if (extent.place === 'passing') {
      if (!this.admit(extent)) this.drop(extent, 'reclaimed');
    } else if (extent.place !== 'resident' || extent.pinned) return;
    else if (this.parameters.kind === 'linux-two-list') extent.young = this.parameters.seesUse;
    else if (this.parameters.kind === 'linux') list.push(...list.splice(list.indexOf(extent), 1));
  }

  touch(range: ByteRange): void {
    for (const extent of this.outward(range)) this.touchOne(extent);
    this.settle();
  }

  startRead(range: ByteRange, reader: Reader): number[] {
    const asked = this.outward(range);
    const missing = asked.filter(({ place }) => place === 'nowhere');
    const isMarked = asked.some(({ index }) => index === this.marker);
    const reads = reader === 'willneed' || (missing.length === 0 && !isMarked) ? missing : this.readAhead(range, asked);
    let last: Extent | undefined;
    for (const extent of reads) {
      // After resident extents the rest is read in single pages.
      const isBroken = last !== undefined && (last.index < extent.index - 1 || this.isBroken);
      this.isBroken = isBroken;
      this.begin(extent, reader, missing.length > 0 && last === undefined, isBroken);
      last = extent;
    }
    this.settle();
    if (this.parameters.kind === 'linux-two-list') this.inactive.push(...reads);
    if (reader === 'populate') for (const extent of asked) this.populateOne(extent);
    return reads.map(({ index }) => index);
  }

  private isBroken = false;

  private aheadEnd = 0;

  /** Extents that a fault reads, including readaround and readahead; for a resident range only the readahead. */
  private readAhead(range: ByteRange, asked: Extent[]): Extent[] {
    const end = (asked.at(-1) as Extent).index + 1;
    const missing = asked.filter(({ place }) => place === 'nowhere');
    const length = Math.floor(this.parameters.readAhead / this.extentBytes);
    if (this.parameters.readAround > 0 && length > 0) return this.readWindow(missing, end, length);
    const reach = Math.min(this.size, range.to + this.parameters.readAhead);
    this.marker = -1;
    for (const extent of this.extents.slice(end)) {
      if (extent.index * this.extentBytes + extent.bytes > reach || extent.place !== 'nowhere') break;
      this.marker = end;
      missing.push(extent);
    }
    return missing;
  }

  /**
   * Reads around the first missing extent with a marker at the last quarter, or after the previous readahead with a
   * marker at the first extent.
   */
  private readWindow(missing: readonly Extent[], end: number, length: number): Extent[] {
    const [first] = missing;
    const around = Math.floor(this.parameters.readAround / this.extentBytes);
    const from = first === undefined ? this.aheadEnd : Math.max(0, first.index - around);
    const marker = first === undefined ? from : from + length - Math.max(1, Math.floor(length / 4));
    this.aheadEnd = Math.min(this.extents.length, from + length);
    const to = first === undefined ? this.aheadEnd : Math.max(this.aheadEnd, end);
    const reads = this.extents.slice(from, to).filter(({ place }) => place === 'nowhere');
    this.marker = reads.some(({ index }) => index === marker) ? marker : -1;
    return reads;
  }

  private populateOne(extent: Extent): void {
    const list = this.inactive;
    if (this.parameters.kind !== 'linux-two-list') this.touchOne(extent);
    else if (extent.place === 'reading' || (extent.place === 'resident' && !extent.pinned)) {
      const isSecond = extent.folios === 'several' || (extent.folios === 'page' && extent.referenced);
      const isPromoted = isSecond && !extent.promoted && !this.active.includes(extent);
      extent.young = this.parameters.seesUse;
      if (extent.folios !== 'huge') extent.referenced = extent.folios === 'several' || !isPromoted;
      if (isPromoted && extent.place === 'reading') extent.promoted = true;
      if (!isPromoted || extent.place === 'reading') return;
      list.splice(list.indexOf(extent), 1);
      this.active.push(extent);
      this.age++;
    }
  }

  private begin(extent: Extent, reader: Reader, isNew: boolean, isBroken: boolean): void {
    const toReclaim = Math.max(0, -Math.floor((this.capacity() - this.charged()) / this.extentBytes));
    const { index } = extent;
    const isBehind = index > 0 && this.extents[index - 1]?.place !== 'nowhere';
    extent.place = 'reading';
    this.counters.read += extent.bytes;
    if (extent.seen) this.counters.reloaded += extent.bytes;
    if (extent.seen && extent.age !== undefined) this.counters.refaulted += extent.bytes;
    extent.seen = true;
    if (this.parameters.kind !== 'linux-two-list') return;
    extent.promoted = extent.age !== undefined && this.age + toReclaim - extent.age <= this.countedActive;
    extent.folios = 'page';
    if (reader === 'willneed') return;
    const window = this.parameters.readAhead / this.extentBytes;
    const isOn = !isNew || this.stream.end === index;
    const start = isBehind ? Math.floor(window / 2) : 0;
    const place = isOn ? this.stream.length + Math.max(0, index - this.stream.end) : start;
    this.stream = { end: index + 1, length: place + 1 };
    // Below 2 MiB of readahead, folios never grow to huge pages.
    if (!isBroken && place >= Math.max(1, Math.floor(window))) extent.folios = 'several';
  }

  finishRead(range: ByteRange): void {
    for (const extent of this.inward(range)) {
      if (extent.place !== 'reading') continue;
      if (extent.pinned) {
        extent.place = 'resident';
        this.inactive = this.inactive.filter((other) => other !== extent);
      } else this.admit(extent);
    }
  }

  release(range: ByteRange): void {
    for (const extent of this.inward(range)) {
      if (extent.place === 'passing' || (extent.place === 'resident' && !extent.pinned)) this.drop(extent, 'released');
    }
    this.settle();
  }

  pin(range: ByteRange): void {
    for (const extent of this.outward(range)) {
      extent.pinned = true;
      if (extent.place === 'passing') extent.place = 'resident';
      if (extent.place === 'reading') continue;
      this.inactive = this.inactive.filter((other) => other !== extent);
      this.active = this.active.filter((other) => other !== extent);
    }
    this.settle();
  }

  unpin(range: ByteRange): void {
    const freed = this.outward(range).filter(({ pinned, place }) => pinned && place === 'resident');
    for (const extent of this.outward(range)) extent.pinned = false;
    for (const extent of freed) extent.place = 'passing';
    for (const extent of freed) this.admit(extent);
    this.settle();
  }

  setLimit(limit: number): void {
    this.limit = limit;
    this.settle();
  }
}
