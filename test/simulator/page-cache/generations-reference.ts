import type { Reader } from '../../../simulator/page-cache/reclaimer.ts';

interface Page {
  readonly index: number;
  place: 'nowhere' | 'reading' | 'resident';
  young: boolean;
  uses: number;
  hot: boolean;
  /** The oldest generation when it was evicted, and the references that it had. */
  shadow: { readonly oldest: number; readonly references: number } | undefined;
}

export interface GenerationsCase {
  readonly pages: number;
  /** Pages of 4 KiB that one extent stands for, and extents of a page table. */
  readonly weight: number;
  readonly tablePages: number;
  readonly limit: number;
  readonly walksTables: boolean;
  readonly throughDescriptor: boolean;
}

/**
 * A slow and obvious multi-generational LRU: generations are arrays of extents, the one that eviction meets first at the
 * front, and every decision is taken extent by extent.
 */
export class GenerationsReference {
  readonly pages: Page[];
  /** By seq. */
  readonly generations = new Map<number, Page[]>([0, 1, 2, 3].map((seq) => [seq, []]));
  oldest = 0;
  youngest = 3;
  limit: number;
  counts = { evicted: 0, released: 0, read: 0 };
  refaulted = [0, 0, 0, 0];
  total = [0, 0, 0, 0];
  filter: Set<number> | undefined;

  constructor(readonly given: GenerationsCase) {
    this.limit = given.limit;
    this.pages = Array.from({ length: given.pages }, (_, index) => ({
      ...{ index, place: 'nowhere', young: false, uses: 0, hot: false, shadow: undefined },
    }));
  }

  private of(seq: number): Page[] {
    return this.generations.get(seq) as Page[];
  }

  private remove(page: Page): void {
    for (const [seq, pages] of this.generations)
      this.generations.set(
        seq,
        pages.filter((other) => other !== page),
      );
  }

  private listed(): number {
    return [...this.generations.values()].reduce((sum, { length }) => sum + length, 0);
  }

  private references({ uses }: Page): number {
    return [0, 0, 1, 2, 3, 4][uses] as number;
  }

  private static readonly TIER = [0, 1, 2, 2, 3];

  private tier(references: number): number {
    return GenerationsReference.TIER[references] as number;
  }

  private add(counts: number[], tier: number): void {
    counts[tier] = (counts[tier] as number) + this.given.weight;
  }

  private highestEvicted(): number {
    const [first, firstTotal] = [this.refaulted[0] as number, this.total[0] as number];
    const found = [1, 2, 3].find((tier) => {
      const [own, total] = [this.refaulted[tier] as number, this.total[tier] as number];
      return own >= 64 && own / (2 * total) > (first + 1) / (firstTotal + 64);
    });
    return (found ?? 4) - 1;
  }

  private dropOldest(): void {
    this.generations.delete(this.oldest++);
    this.refaulted = this.refaulted.map((count) => count / 2);
    this.total = this.total.map((count) => count / 2);
  }

  private dropEmpty(): void {
    while (this.youngest - this.oldest + 1 > 2 && this.of(this.oldest).length === 0) this.dropOldest();
  }

  private toYoungest(page: Page): void {
    this.remove(page);
    page.young = false;
    page.uses = 0;
    this.of(this.youngest).push(page);
  }

  private toSecondOldest(page: Page): void {
    this.remove(page);
    page.uses = 0;
    this.of(this.oldest + 1).unshift(page);
  }

  private table({ index }: Page): number {
    return Math.floor(index / this.given.tablePages);
  }

  private age(): void {
    if (this.given.walksTables) {
      const next = new Set<number>();
      for (let seq = this.oldest; seq <= this.youngest; seq++)
        for (const page of [...this.of(seq)]) {
          if (!page.young || this.filter?.has(this.table(page)) === false) continue;
          next.add(this.table(page));
          if (seq !== this.youngest) this.toYoungest(page);
          page.young = false;
          page.uses = 0;
        }
      this.filter = next;
    }
    if (this.youngest - this.oldest === 3) {
      for (const page of [...this.of(this.oldest)]) this.toSecondOldest(page);
      this.dropOldest();
    }
    this.generations.set(++this.youngest, []);
  }

  private isAgingDue(): boolean {
    const count = this.youngest - this.oldest + 1;
    if (count !== 3) return count < 3;
    const total = this.listed();
    return this.of(this.youngest).length > total / 2 || this.of(this.oldest).length < total / 4;
  }

  private inMemory(): number {
    return this.pages.filter(({ place }) => place !== 'nowhere').length;
  }

  private settle(): void {
    if (this.inMemory() <= this.limit) return;
    this.dropEmpty();
    if (this.isAgingDue()) this.age();
    while (this.inMemory() > this.limit && this.listed() > 0) {
      this.dropEmpty();
      if (this.youngest - this.oldest < 2) this.age();
      else this.scanOne(this.of(this.oldest)[0] as Page);
    }
  }

  private scanOne(page: Page): void {
    const references = this.references(page);
    const tier = this.tier(references);
    if (references === 4 || tier > this.highestEvicted()) {
      this.add(this.total, tier);
      this.toSecondOldest(page);
    } else if (page.young) {
      this.filter?.add(this.table(page));
      this.toYoungest(page);
    } else {
      this.add(this.total, tier);
      this.remove(page);
      page.place = 'nowhere';
      page.uses = 0;
      page.shadow = { oldest: this.oldest, references };
      this.counts.evicted++;
    }
  }

  startRead(from: number, to: number, reader: Reader): number[] {
    const asked = this.pages.slice(from, to);
    const missing = asked.filter(({ place }) => place === 'nowhere');
    const faults = reader !== 'willneed' && !this.given.throughDescriptor;
    for (const page of missing) {
      Object.assign(page, { place: 'reading', hot: faults, young: false, uses: 0 });
      this.counts.read++;
      if (page.shadow?.oldest !== this.oldest) continue;
      const { references } = page.shadow;
      this.add(this.refaulted, this.tier(references));
      if (faults || references >= 3) page.uses = 5;
    }
    for (const page of missing) page.shadow = undefined;
    this.settle();
    if (reader === 'populate') {
      for (const page of asked.filter(({ place }) => place !== 'nowhere')) {
        page.young = !this.given.throughDescriptor;
        page.uses = Math.min(5, page.uses + 1);
      }
    }
    return missing.map(({ index }) => index);
  }

  finishRead(from: number, to: number): void {
    for (const page of this.pages.slice(from, to)) {
      if (page.place !== 'reading') continue;
      page.place = 'resident';
      const cold = this.youngest - this.oldest === 3 ? this.oldest + 1 : this.oldest;
      this.of(page.hot ? this.youngest : cold).push(page);
    }
  }

  touch(from: number, to: number): void {
    for (const page of this.pages.slice(from, to)) {
      if (page.place !== 'resident') continue;
      if (this.given.throughDescriptor) page.uses = Math.min(5, page.uses + 1);
      else page.young = true;
    }
    this.settle();
  }

  release(from: number, to: number): void {
    for (const page of this.pages.slice(from, to)) {
      if (page.place !== 'resident') continue;
      this.remove(page);
      page.place = 'nowhere';
      page.uses = 0;
      this.counts.released++;
    }
    this.settle();
  }

  setLimit(limit: number): void {
    this.limit = limit;
    this.settle();
  }

  /** A letter per extent: d resident, r being read, m missing. */
  map(): string {
    const letters = { nowhere: 'm', reading: 'r', resident: 'd' };
    return this.pages.map(({ place }) => letters[place]).join('');
  }
}
