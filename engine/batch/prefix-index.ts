/** A page that is kept, and the page before it. */
interface Entry<Page> {
  readonly id: number;
  /** The page before it; 0 for the first of a text. */
  readonly before: number;
  /** As many as a page has, or fewer for the last page of a text. */
  readonly tokens: readonly number[];
  readonly page: Page;
}

/** Kept pages with which tokens begin. */
export interface Beginning<Page> {
  /** The longest run of full pages, in order. */
  readonly pages: readonly Page[];
  /** The page after them of which most first tokens are the same, and how many. */
  readonly part: { readonly page: Page; readonly tokens: number } | undefined;
}

/**
 * Maps a token prefix to the page that ends it. Texts with a common prefix share its full pages; the page where they
 * diverge is copied. A page's keys and values depend on all tokens before it: it is found by the page
 * before it and its own tokens.
 */
export interface PrefixIndex<Page> {
  /** Pages that are kept. */
  readonly size: number;
  find(tokens: readonly number[]): Beginning<Page>;
  /** The same, and marks the pages as used just now. */
  use(tokens: readonly number[]): Beginning<Page>;
  /**
   * Adds the text's pages whose tokens are not indexed yet, including a partial last page.
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
  const entries = new Set<Entry<Page>>();
  /** By the page before them, by their tokens. */
  const following = new Map<number, Map<string, Entry<Page>>>();
  let nextId = 1;
  const tokensOf = (tokens: readonly number[], page: number): readonly number[] =>
    tokens.slice(page * pageTokens, (page + 1) * pageTokens);
  const after = (found: readonly Entry<Page>[]): Map<string, Entry<Page>> =>
    following.get(found.at(-1)?.id ?? 0) ?? new Map();
  const fullPages = (tokens: readonly number[]): Entry<Page>[] => {
    const found: Entry<Page>[] = [];
    for (let page = 0; (page + 1) * pageTokens <= tokens.length; page++) {
      const entry = after(found).get(tokensOf(tokens, page).join());
      if (entry === undefined) break;
      found.push(entry);
    }
    return found;
  };
  /** The page after these with which most of the further tokens begin. */
  const partOf = (found: readonly Entry<Page>[], tokens: readonly number[]) => {
    const further = tokensOf(tokens, found.length);
    let part: { readonly entry: Entry<Page>; readonly tokens: number } | undefined;
    for (const entry of after(found).values()) {
      const same = commonTokens(entry.tokens, further);
      if (same > (part?.tokens ?? 0)) part = { entry, tokens: same };
    }
    return part;
  };
  const beginningOf = (tokens: readonly number[]) => {
    const found = fullPages(tokens);
    const part = partOf(found, tokens);
    const pages = found.map(({ page }) => page);
    return { entries: part === undefined ? found : [...found, part.entry], pages, part };
  };
  const remove = (entry: Entry<Page>): void => {
    entries.delete(entry);
    const siblings = following.get(entry.before);
    siblings?.delete(entry.tokens.join());
    if (siblings?.size === 0) following.delete(entry.before);
  };
  /** The first page of a text is the newest, so that its last pages are evicted first. */
  const touch = (found: readonly Entry<Page>[]): void => {
    for (const entry of found.toReversed()) {
      entries.delete(entry);
      entries.add(entry);
    }
  };
  const append = (before: Entry<Page> | undefined, tokens: readonly number[], page: Page): Entry<Page> => {
    const entry = { id: nextId++, before: before?.id ?? 0, tokens, page };
    following.set(entry.before, (following.get(entry.before) ?? new Map()).set(tokens.join(), entry));
    return entry;
  };
  const find = (tokens: readonly number[]) => {
    const { entries: found, pages, part } = beginningOf(tokens);
    return { found, beginning: { pages, part: part && { page: part.entry.page, tokens: part.tokens } } };
  };
  return {
    get size() {
      return entries.size;
    },
    find: (tokens) => find(tokens).beginning,
    use(tokens) {
      const { found, beginning } = find(tokens);
      touch(found);
      return beginning;
    },
    add(tokens, pageOf) {
      const all = fullPages(tokens);
      for (let index = all.length; index * pageTokens < tokens.length; index++) {
        const own = tokensOf(tokens, index);
        if (own.length < pageTokens && partOf(all, tokens)?.tokens === own.length) break;
        const page = pageOf(index);
        if (page === undefined) break;
        all.push(append(all.at(-1), own, page));
      }
      touch(all);
    },
    evict(isIdle) {
      for (const entry of entries) {
        if (!isIdle(entry.page)) continue;
        remove(entry);
        return entry.page;
      }
      return undefined;
    },
    clear() {
      const pages = [...entries].map(({ page }) => page);
      entries.clear();
      following.clear();
      return pages;
    },
    count: (fits) => [...entries].filter(({ page }) => fits(page)).length,
  };
}

/** Length of the prefix that two runs have in common. */
function commonTokens(one: readonly number[], other: readonly number[]): number {
  const end = Math.min(one.length, other.length);
  for (let index = 0; index < end; index++) if (one[index] !== other[index]) return index;
  return end;
}
