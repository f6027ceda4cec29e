import { binomial, createHits, expected, type Hits, type KnownRouting } from '../../experts/hit-rates.ts';
import { overlapAt } from '../../experts/routing.ts';
import { expectedWorkingSet } from '../../experts/working-set.ts';
import { readSeconds } from '../../hardware/disk-reads.ts';
import { PAGE_TABLES } from '../reclaim.ts';
import { type ExpertsCase, precisionByRank, USUAL_PRECISION } from './experts-case.ts';
import { type MemoryShares, memoryShares } from './memory-shares.ts';
import { bufferedReads, type PieceReads, pieceReads } from './piece-reads.ts';
import { swapSeconds } from './pressure.ts';

/** The predicted decoding of a mixture whose experts don't fit. Bytes and seconds are those of a token. */
export interface PredictedExperts extends MemoryShares {
  /** Share of the needed experts that slots, or mapped pages, hold. */
  readonly hitRate: number;
  /** Share that has to be copied from file pages (`pread`). */
  readonly cachedRate: number;
  /** Bytes that the disk reads, guesses and read-ahead included. */
  readonly readBytes: number;
  /** The part of them that is read ahead of routers. */
  readonly guessedBytes: number;
  /** Where nothing is computed while the disk reads. */
  readonly serialSeconds: number;
  /** With what the policy overlaps. */
  readonly tokenSeconds: number;
  /** Computing alone: no policy is faster. */
  readonly computeSeconds: number;
  /** Seconds of the disk for the experts. */
  readonly diskSeconds: number;
  /** Seconds of swapping, and of reading again what every token uses. */
  readonly pressureSeconds: number;
  /** Bytes of one token's experts: below them a pool for all layers hits nothing. */
  readonly floorBytes: number;
}

/** How the next layer's experts are guessed. */
interface Guesses {
  /** Share of a layer's experts that are guessed. */
  readonly recall: number;
  /** Guesses of a layer that are wrong, in the mean. */
  readonly wrong: number;
}

/**
 * What a token takes under a policy, in the mean over layers whose misses are independent of what came before (createHits):
 *
 *     layer = router + max(reads, hits) + misses     with hits first, otherwise
 *     layer = router + reads + hits + misses
 *
 * With lookahead the demand of a layer is thinned by what was guessed, and where reading guesses takes longer than from the
 * end of a layer's own reads to the next router, the rest is waited for. Guesses are read in turn with all others, and wrong
 * ones are read like right ones. The first layer of a token has no guesses.
 */
export function predictExperts(one: ExpertsCase, known: KnownRouting): PredictedExperts {
  const { mixture, seconds, policy, memory } = one;
  const { layers, used, expertBytes, readsPerExpert } = mixture;
  const shares = memoryShares(one);
  const reads = pieceReads(one);
  const { hits, cachedRate } = hitsOf(one, known, shares, reads);
  const guesses = guessesOf(one, known);
  const heldElsewhere = otherHeldShare(one, shares, hits);

  const piecesOf = (missing: number): number => missing * readsPerExpert;
  const readingSeconds = (missing: number): number =>
    binomial(missing, missing === 0 ? 0 : cachedShare(hits, cachedRate)).reduce((sum, share, cached) => {
      const copied = (Math.ceil(piecesOf(cached) / policy.depth) * reads.bytes) / memory.copyRate;
      const pieces = piecesOf(missing - cached) * (1 + reads.ahead);
      return sum + share * (copied + readSeconds(reads.disk, pieces, reads.bytes, policy.depth));
    }, 0);

  const missing = expected(hits.misses);
  const guessed = guesses.recall * missing + guesses.wrong * (1 - heldElsewhere);
  const guessSeconds = interpolated(readingSeconds, guessed);
  const thinned = thin(hits.misses, 1 - guesses.recall);
  const layer = (misses: readonly number[], ahead: number): { serial: number; overlapped: number; disk: number } => {
    let [serial, overlapped, reading] = [0, 0, 0];
    for (const [misses_, share] of misses.entries()) {
      if (share === 0) continue;
      const read = readingSeconds(misses_);
      const [held, rest] = [(used - misses_) * seconds.expert, misses_ * seconds.expert];
      const beside = policy.hitsFirst ? Math.max(read, held) : read + held;
      const left = policy.hitsFirst ? Math.max(0, held - read) + rest : held + rest;
      const stall = Math.max(0, ahead - left - seconds.layer);
      serial += share * (seconds.layer + read + held + rest);
      overlapped += share * (seconds.layer + beside + rest + stall);
      reading += share * read;
    }
    return { serial: serial + ahead, overlapped, disk: reading + ahead };
  };
  // The first layer has no guesses, and the last makes none.
  const [first, between, last] = [
    layer(hits.misses, layers > 1 ? guessSeconds : 0),
    layer(thinned, guessSeconds),
    layer(thinned, 0),
  ];
  const sum = (part: 'serial' | 'overlapped' | 'disk'): number =>
    first[part] + (layers > 1 ? (layers - 2) * between[part] + last[part] : 0);

  const demanded = missing + (layers - 1) * expected(thinned);
  const ahead = (layers - 1) * guessed;
  const fromDisk = (1 + reads.ahead) * expertBytes * (1 - cachedShare(hits, cachedRate));
  const expertsRead = (demanded + ahead) * fromDisk;
  const pressure = pressureOf(one, known, shares, expertsRead);
  const computeSeconds = layers * (seconds.layer + used * seconds.expert) + seconds.other;
  return {
    ...shares,
    hitRate: hits.rate,
    cachedRate,
    readBytes: expertsRead + pressure.readBytes,
    guessedBytes: ahead * fromDisk,
    serialSeconds: sum('serial') + seconds.other + pressure.seconds,
    tokenSeconds: sum('overlapped') + seconds.other + pressure.seconds,
    computeSeconds,
    diskSeconds: sum('disk'),
    pressureSeconds: pressure.seconds,
    floorBytes: layers * used * expertBytes,
  };

  /** Of uses that miss slots, the share that file pages hold. */
  function cachedShare({ rate }: Hits, cached: number): number {
    return rate >= 1 ? 0 : Math.min(1, cached / (1 - rate));
  }
}

/** What slots, or mapped pages, hold, and what file pages hold beside slots, counting as an LRU cache of its own size. */
function hitsOf(one: ExpertsCase, known: KnownRouting, shares: MemoryShares, reads: PieceReads) {
  const { mixture, policy, memory } = one;
  const { layers, experts, used, expertBytes, denseBytes } = mixture;
  const all = { layers, experts, used };
  const pages = shares.pageBytes - (memory.dense === 'mapped' ? denseBytes * (1 + PAGE_TABLES) : 0);
  const pageHits = createHits(known, { ...all, policy: { pool: 'all', eviction: 'lru' } });
  const mapped = (room: number): number =>
    Math.max(0, Math.min(layers * experts, Math.floor(room / (expertBytes * (1 + reads.ahead)))));
  if (policy.method === 'mmap') {
    const tables = PAGE_TABLES * layers * experts * expertBytes;
    return { hits: pageHits(mapped(pages - tables)), cachedRate: 0 };
  }
  const hits = createHits(known, { ...all, policy })(shares.slots);
  const cached = policy.method === 'pread' ? pageHits(mapped(pages)).rate : 0;
  return { hits, cachedRate: Math.max(0, cached - hits.rate) };
}

/** Share of the other experts of a layer, which a token doesn't use, that are held: guesses that are wrong cost no read then. */
function otherHeldShare({ mixture }: ExpertsCase, { allSlots }: MemoryShares, { rate }: Hits): number {
  const { layers, experts, used } = mixture;
  const others = allSlots / layers - rate * used;
  return experts === used ? 1 : Math.max(0, Math.min(1, others / (experts - used)));
}

function guessesOf(
  { mixture: { used }, policy: { lookahead }, precision = USUAL_PRECISION }: ExpertsCase,
  known: KnownRouting,
): Guesses {
  switch (lookahead.kind) {
    case 'none':
      return { recall: 0, wrong: 0 };
    case 'next-router': {
      const ranks = precisionByRank(precision, used).slice(0, lookahead.ranks);
      const right = ranks.reduce((sum, share) => sum + share, 0);
      return { recall: right / used, wrong: ranks.length - right };
    }
    case 'previous-token': {
      const recall = repeatedShare(known, used);
      return { recall, wrong: used * (1 - recall) };
    }
  }
}

/** Share of a token's experts that the token before used too. */
function repeatedShare(known: KnownRouting, used: number): number {
  if (known.kind === 'recorded') return overlapAt(known.routing, 1);
  const { shares, recurrence } = known;
  const together = shares.map((share) => expectedWorkingSet(share, recurrence, 2).different(2));
  return 2 - together.reduce((sum, one) => sum + one, 0) / (together.length * used);
}

/** Seconds of swapping and of reading again what every token uses, and the bytes of the latter. */
function pressureOf(one: ExpertsCase, known: KnownRouting, shares: MemoryShares, expertsRead: number) {
  const { mixture, memory, disk, policy } = one;
  const { layers, used, expertBytes, denseBytes } = mixture;
  let seconds = 0;
  let readBytes = 0;
  if (shares.residentSlots < shares.allSlots) {
    const caches = policy.pool === 'layer' ? layers : 1;
    const lru = { ...mixture, policy: { pool: policy.pool, eviction: 'lru' } as const };
    const { rate } = createHits(known, lru)(Math.floor(shares.residentSlots / caches));
    seconds += swapSeconds(memory.pressure, disk, layers * used * (1 - rate) * expertBytes);
  }
  const passing = policy.method === 'direct' ? 0 : expertsRead;
  if (memory.dense === 'mapped' && denseBytes * (1 + PAGE_TABLES) + passing > shares.pageBytes) {
    const { latency, bandwidth } = bufferedReads(disk, denseBytes, memory.readAhead);
    seconds += latency + denseBytes / bandwidth;
    readBytes += denseBytes;
  }
  return { seconds, readBytes };
}

/** How likely a layer misses so many where each miss stays one with a probability. */
function thin(misses: readonly number[], probability: number): number[] {
  const thinned = misses.map(() => 0);
  for (const [missing, share] of misses.entries())
    for (const [left, part] of binomial(missing, probability).entries())
      thinned[left] = (thinned[left] as number) + share * part;
  return thinned;
}

/** A function of whole numbers between them. */
function interpolated(of: (whole: number) => number, at: number): number {
  const low = Math.floor(at);
  return of(low) + (at - low) * (of(low + 1) - of(low));
}
