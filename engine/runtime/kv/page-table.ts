/** Tokens `from` up to, not including, `to`, and where they are. */
export interface PageState {
  readonly page: number;
  readonly from: number;
  readonly to: number;
  /** `leaving`: in memory, while a copy goes to the second pool; `evicted`: in the second pool alone. */
  readonly place: 'memory' | 'leaving' | 'evicted';
}

/**
 * Where the pages of a context are. The oldest are evicted first, so they come in order: evicted ones, those that are
 * leaving, those in memory, to which a page belongs that tokens are written to.
 */
export interface PageTable {
  readonly tokens: number;
  readonly pages: number;
  readonly evicted: number;
  readonly leaving: number;
  /** Pages that take memory: all but the evicted ones. */
  readonly held: number;
  states(): PageState[];
  /** Tokens that still go to the last page; a whole page where it is full. */
  room(): number;
  /** Writes to the last page, or to a new one. @throws RangeError where the tokens reach beyond it */
  append(tokens: number): void;
  /** The oldest page that isn't leaving begins to. @returns its number. @throws RangeError where none but the one that is written to is left */
  leave(): number;
  /** The oldest leaving page is in the second pool. @returns its number */
  evict(): number;
  /**
   * Forgets all tokens from `tokens` on. Pages that are leaving stay.
   * @returns the page that the next token is written to, where it was evicted: it is back in memory; and how many pages
   * there were
   */
  rewind(tokens: number): { readonly fetched: number | undefined; readonly pages: number };
}

export function createPageTable(pageTokens: number): PageTable {
  let [tokens, evicted, leaving] = [0, 0, 0];
  const pages = (): number => Math.ceil(tokens / pageTokens);
  const held = (): number => pages() - evicted;
  return {
    get tokens() {
      return tokens;
    },
    get pages() {
      return pages();
    },
    get evicted() {
      return evicted;
    },
    get leaving() {
      return leaving;
    },
    get held() {
      return held();
    },
    states: () =>
      Array.from({ length: pages() }, (_, page) => ({
        page,
        from: page * pageTokens,
        to: Math.min(tokens, (page + 1) * pageTokens),
        place: page < evicted ? 'evicted' : page < evicted + leaving ? 'leaving' : 'memory',
      })),
    room: () => pageTokens - (tokens % pageTokens),
    append(more) {
      const room = pageTokens - (tokens % pageTokens);
      if (!(more >= 1 && more <= room)) throw new RangeError(`${more} tokens for a page with room for ${room}`);
      tokens += more;
    },
    leave() {
      const isFull = tokens % pageTokens === 0;
      if (held() - leaving <= (isFull ? 0 : 1)) throw new RangeError('a page that is written to must stay in memory');
      leaving += 1;
      return evicted + leaving - 1;
    },
    evict() {
      if (leaving === 0) throw new RangeError('no page is leaving');
      leaving -= 1;
      evicted += 1;
      return evicted - 1;
    },
    rewind(to) {
      if (leaving > 0) throw new RangeError('pages are leaving; wait for them');
      const before = pages();
      tokens = to;
      // The last page that is left is written to next, unless it is full.
      const last = to % pageTokens === 0 ? pages() : pages() - 1;
      const fetched = last < evicted && last < pages() ? last : undefined;
      evicted = Math.min(evicted, last);
      return { fetched, pages: before };
    },
  };
}
