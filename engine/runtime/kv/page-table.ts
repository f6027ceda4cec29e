/** A page with tokens `from` up to, not including, `to`, and its place. */
export interface PageState {
  readonly page: number;
  readonly from: number;
  readonly to: number;
  /** `leaving`: in memory while it is copied to the second pool; `evicted`: only in the second pool. */
  readonly place: 'memory' | 'leaving' | 'evicted';
}

/**
 * The places of a context's pages. The oldest are evicted first, so their order is: evicted, leaving, in memory. The
 * page that tokens are written to is among the last.
 */
export interface PageTable {
  readonly tokens: number;
  readonly pages: number;
  readonly evicted: number;
  readonly leaving: number;
  /** Pages in memory: all but the evicted ones. */
  readonly held: number;
  states(): PageState[];
  /** Tokens that fit into the last page; a whole page if it is full. */
  room(): number;
  /** Appends tokens to the last page or to a new one. @throws RangeError if they don't fit into it */
  append(tokens: number): void;
  /**
   * Marks the oldest page in memory as leaving. @returns its number. @throws RangeError if only the page that is
   * written to remains
   */
  leave(): number;
  /** Marks the oldest leaving page as evicted. @returns its number */
  evict(): number;
  /**
   * Removes all tokens from `tokens` on. Pages must not be leaving.
   * @returns the page that the next token is written to if it was evicted, which is then in memory; and the previous
   * number of pages
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
      // The last remaining page is written to next, unless it is full.
      const last = to % pageTokens === 0 ? pages() : pages() - 1;
      const fetched = last < evicted && last < pages() ? last : undefined;
      evicted = Math.min(evicted, last);
      return { fetched, pages: before };
    },
  };
}
