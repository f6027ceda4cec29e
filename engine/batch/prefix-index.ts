/** A page that is kept, and the page before it. */
interface Entry<Page> {
  /** The page before it and its tokens: what it is found by. */
  readonly key: string;
  readonly id: number;
  readonly page: Page;
}

/**
 * Full pages by the tokens from the beginning of a text to their end, so that texts which begin alike use the same
 * pages. A page's keys and values depend on all tokens before it: it is found by the page before it and its own tokens.
 */
export interface PrefixIndex<Page> {
  /** Pages that are kept. */
  readonly size: number;
  /** The longest run of kept pages with which the tokens begin, in order. */
  find(tokens: readonly number[]): Page[];
  /** The same, and marks them as used just now. */
  use(tokens: readonly number[]): Page[];
  /**
   * Keeps the full pages of a text of which none with the same tokens are there.
   * @param pageOf the page with this number, or `undefined`, after which none is kept
   */
  add(tokens: readonly number[], pageOf: (page: number) => Page | undefined): void;
  /** Removes the page that was used longest ago among those that `isIdle`; a later page of a text before an earlier one. */
  evict(isIdle: (page: Page) => boolean): Page | undefined;
  /** Removes all. */
  clear(): Page[];
  /** The number of kept pages that fit. */
  count(fits: (page: Page) => boolean): number;
}

export function createPrefixIndex<Page>(pageTokens: number): PrefixIndex<Page> {
  /** In the order in which they were used. */
  const entries = new Map<string, Entry<Page>>();
  let nextId = 1;
  const keyOf = (before: Entry<Page> | undefined, tokens: readonly number[], page: number): string =>
    `${before?.id ?? 0}:${tokens.slice(page * pageTokens, (page + 1) * pageTokens).join(',')}`;
  const chain = (tokens: readonly number[]): Entry<Page>[] => {
    const found: Entry<Page>[] = [];
    for (let page = 0; (page + 1) * pageTokens <= tokens.length; page++) {
      const entry = entries.get(keyOf(found.at(-1), tokens, page));
      if (entry === undefined) break;
      found.push(entry);
    }
    return found;
  };
  /** The first page of a text is the newest, so that its last pages are evicted first. */
  const touch = (found: readonly Entry<Page>[]): void => {
    for (const entry of found.toReversed()) {
      entries.delete(entry.key);
      entries.set(entry.key, entry);
    }
  };
  return {
    get size() {
      return entries.size;
    },
    find: (tokens) => chain(tokens).map(({ page }) => page),
    use(tokens) {
      const found = chain(tokens);
      touch(found);
      return found.map(({ page }) => page);
    },
    add(tokens, pageOf) {
      const all = chain(tokens);
      for (let index = all.length; (index + 1) * pageTokens <= tokens.length; index++) {
        const page = pageOf(index);
        if (page === undefined) break;
        all.push({ key: keyOf(all.at(-1), tokens, index), id: nextId++, page });
      }
      touch(all);
    },
    evict(isIdle) {
      for (const { key, page } of entries.values()) {
        if (!isIdle(page)) continue;
        entries.delete(key);
        return page;
      }
      return undefined;
    },
    clear() {
      const pages = [...entries.values()].map(({ page }) => page);
      entries.clear();
      return pages;
    },
    count: (fits) => [...entries.values()].filter(({ page }) => fits(page)).length,
  };
}
