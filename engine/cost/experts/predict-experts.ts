import { binomial, createHits, expected, type KnownRouting, swappedUses } from '../../experts/hit-rates.ts';
import { readSeconds } from '../../hardware/disk-reads.ts';
import { distinctExperts } from '../../model/feed-forward.ts';
import { PAGE_TABLES } from '../reclaim.ts';
import type { ExpertsCase } from './experts-case.ts';
import { type MemoryShares, memoryShares } from './memory-shares.ts';
import { bufferedReads, type PieceReads, pieceReads } from './piece-reads.ts';
import { swapSeconds } from './pressure.ts';

/** The predicted decoding of a mixture whose experts don't fit. Bytes and seconds are those of a pass: of a token, unless several are decoded together. */
export interface PredictedExperts extends MemoryShares {
  /** Share of the needed experts that slots, or mapped pages, hold. */
  readonly hitRate: number;
  /** Share that has to be copied from file pages (`pread`). */
  readonly cachedRate: number;
  /** Bytes that the disk reads, guesses and read-ahead included. */
  readonly readBytes: number;
  /** The part of them that is read ahead of routers. */
  readonly guessedBytes: number;
  /** Seconds of a token if nothing is computed while the disk reads. */
  readonly serialSeconds: number;
  /** Seconds of a token with the policy's overlap of reading and computing. */
  readonly tokenSeconds: number;
  /** Seconds of computing alone: no policy is faster. */
  readonly computeSeconds: number;
  /** Seconds of the disk for the experts. */
  readonly diskSeconds: number;
  /** Seconds of swapping, and of reading again what every token uses. */
  readonly pressureSeconds: number;
  /** Bytes of one token's experts: below them a pool for all layers hits nothing. */
  readonly floorBytes: number;
}

/**
 * Predicts hits, bytes and seconds of a token under a policy, in the mean over layers whose misses are independent of
 * what came before (createHits):
 *
 *     layer = router + reads + resume + experts
 *
 * or with hits first, where experts are multiplied as they come, router + d(misses):
 *
 *     d(0) = hits,  d(i) = d(i − 1) + expert, or where the read is later: reads of i + resume + expert
 *
 * With lookahead, where reading guesses takes longer than from the end of a layer's own reads to the next router, the
 * rest is waited for. Guesses are read in turn with all others, and wrong ones are read like right ones.
 */
export function predictExperts(one: ExpertsCase, known: KnownRouting): PredictedExperts {
  const { mixture, seconds, policy, memory } = one;
  const { layers, used, expertBytes, readsPerExpert } = mixture;
  const isSingle = one.pass === undefined || one.pass.texts * one.pass.tokens === 1;
  const shares = memoryShares(one);
  const reads = pieceReads(one);
  const { hits, ahead: besides } = hitsOf(one, known, shares, reads);
  const ahead = layers > 1 && isSingle && policy.lookahead.kind !== 'none' ? hits.guessed : 0;

  const piecesOf = (missing: number): number => missing * readsPerExpert;
  const readingSeconds = tabulated((missing) =>
    binomial(missing, hits.cached).reduce((sum, share, cached) => {
      const copied = (Math.ceil(piecesOf(cached) / policy.depth) * reads.bytes) / memory.copyRate;
      const pieces = piecesOf(missing - cached) * (1 + besides);
      return sum + share * (copied + readSeconds(reads.disk, pieces, reads.bytes, policy.depth));
    }, 0),
  );

  const guessSeconds = interpolated(readingSeconds, ahead);
  let [serial, overlapped, reading] = [0, 0, 0];
  for (const [missing, share] of hits.misses.entries()) {
    if (share === 0) continue;
    const read = readingSeconds(missing);
    const [held, rest] = [Math.max(0, hits.needed - missing) * seconds.expert, missing * seconds.expert];
    const resume = read === 0 ? 0 : (seconds.resume ?? 0);
    const done =
      policy.hitsFirst && isSingle
        ? inTurn(held, missing, readingSeconds, { each: seconds.expert, resume })
        : read + resume + held + rest;
    // The first layer of a token waits for no guesses.
    const stall = (1 - 1 / layers) * Math.max(0, guessSeconds - (done - read) - seconds.layer);
    serial += share * (seconds.layer + read + resume + held + rest);
    overlapped += share * (seconds.layer + done + stall);
    reading += share * read;
  }
  const guessing = (layers - 1) * guessSeconds;
  const fromDisk = (1 + besides) * expertBytes * (1 - hits.cached);
  const guessed = (layers - 1) * ahead;
  const expertsRead = (layers * expected(hits.misses) + guessed) * fromDisk;
  const pressure = pressureOf(one, known, shares, expertsRead);
  const computeSeconds = layers * (seconds.layer + hits.needed * seconds.expert) + seconds.other;
  return {
    ...shares,
    hitRate: hits.rate,
    cachedRate: (1 - hits.rate) * hits.cached,
    readBytes: expertsRead + pressure.readBytes,
    guessedBytes: guessed * fromDisk,
    serialSeconds: layers * serial + guessing + seconds.other + pressure.seconds,
    tokenSeconds: layers * overlapped + seconds.other + pressure.seconds,
    computeSeconds,
    diskSeconds: layers * reading + guessing,
    pressureSeconds: pressure.seconds,
    floorBytes: layers * used * expertBytes,
  };
}

/** Seconds until experts are multiplied as they come, those that are held first. */
function inTurn(
  held: number,
  missing: number,
  readingSeconds: (missing: number) => number,
  { each, resume }: { readonly each: number; readonly resume: number },
): number {
  let done = held;
  for (let come = 1; come <= missing; come++) {
    const arrival = readingSeconds(come);
    done = (arrival > done ? arrival + resume : done) + each;
  }
  return done;
}

/**
 * Seconds of the disk for a prompt's pass, and its bytes: each layer reads the experts that any of the tokens uses, as if each
 * token drew its own with equal chances, as far as slots don't hold them, and nothing is computed meanwhile.
 */
export function predictPromptReads(
  one: ExpertsCase,
  tokens: number,
): { readonly seconds: number; readonly bytes: number } {
  const { layers, experts, used, expertBytes, readsPerExpert } = one.mixture;
  const { allSlots, pageBytes } = memoryShares(one);
  const { bytes, disk } = pieceReads(one);
  const mapped = one.policy.method === 'mmap' ? Math.floor(pageBytes / expertBytes) : 0;
  const held = Math.min(1, (allSlots + mapped) / (layers * experts));
  const missing = distinctExperts({ experts, used }, tokens) * (1 - held);
  const each = (whole: number): number => readSeconds(disk, whole * readsPerExpert, bytes, one.policy.depth);
  return { seconds: layers * interpolated(each, missing), bytes: layers * missing * expertBytes };
}

/** Hits of slots, of mapped pages as an LRU cache, and of the file pages through which slots are filled. */
function hitsOf(one: ExpertsCase, known: KnownRouting, shares: MemoryShares, reads: PieceReads) {
  const { mixture, policy, memory } = one;
  const { layers, experts, used, expertBytes, denseBytes } = mixture;
  const all = { layers, experts, used, pass: one.pass };
  const pages = shares.pageBytes - (memory.dense === 'mapped' ? denseBytes * (1 + PAGE_TABLES) : 0);
  const tables = policy.method === 'mmap' ? PAGE_TABLES * layers * experts * expertBytes : 0;
  const held = Math.max(0, Math.min(1, (pages - tables) / (layers * experts * expertBytes)));
  const ahead = policy.method === 'direct' ? 0 : piecesBehind(reads.ahead, held);
  const room = Math.floor((held * layers * experts) / (1 + ahead));
  const lookahead = { lookahead: policy.lookahead, precision: one.precision };
  if (policy.method === 'mmap') {
    const mapped = createHits(known, { ...all, policy: { pool: 'all', eviction: 'lru' }, lookahead });
    return { hits: mapped(room), ahead };
  }
  const behind = { room, protectsReread: memory.reclaim === 'two-lists' };
  const through = policy.method === 'pread' ? { pages: behind } : {};
  return { hits: createHits(known, { ...all, policy, lookahead, ...through })(shares.slots), ahead };
}

/** Pieces that are read behind another, at most this many, up to the first that is in memory, as a share of them is. */
export function piecesBehind(most: number, held: number): number {
  let behind = 0;
  for (let piece = 1; piece <= most; piece++) behind += (1 - held) ** piece;
  return behind;
}

/** Seconds of swapping and of reading again what every token uses, and the bytes of the latter. */
function pressureOf(one: ExpertsCase, known: KnownRouting, shares: MemoryShares, expertsRead: number) {
  const { mixture, memory, disk, policy } = one;
  const { expertBytes, denseBytes } = mixture;
  let seconds = 0;
  let readBytes = 0;
  if (shares.residentSlots < shares.allSlots) {
    const { slots, residentSlots: resident } = shares;
    const swapped = swappedUses(known, { pool: policy.pool, slots, resident });
    seconds += swapSeconds(memory.pressure, disk, swapped * expertBytes);
  }
  const passing = policy.method === 'direct' ? 0 : expertsRead;
  if (memory.dense === 'mapped' && denseBytes * (1 + PAGE_TABLES) + passing > shares.pageBytes) {
    const { latency, bandwidth } = bufferedReads(disk, denseBytes, memory.readAhead);
    seconds += latency + denseBytes / bandwidth;
    readBytes += denseBytes;
  }
  return { seconds, readBytes };
}

/** A function of small whole numbers whose values are computed once. */
function tabulated(of: (whole: number) => number): (whole: number) => number {
  const values: number[] = [];
  return (whole) => {
    values[whole] ??= of(whole);
    return values[whole];
  };
}

/** A function of whole numbers between them. */
function interpolated(of: (whole: number) => number, at: number): number {
  const low = Math.floor(at);
  return of(low) + (at - low) * (of(low + 1) - of(low));
}
