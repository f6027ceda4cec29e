import { type Command, Option } from 'commander';
import type { ExpertReads } from '../engine/experts/expert-reads.ts';
import {
  EXPERTS_EVICTIONS,
  type ExpertsEviction,
  type ExpertsPolicy,
  type Lookahead,
  MOST_DEPTH,
  READ_METHODS,
  type ReadMethod,
  USUAL_EXPERTS,
} from '../engine/experts/experts-policy.ts';
import { parseRoutings } from '../engine/experts/recorded/parse-routings.ts';
import { POOLS, type Pool } from '../engine/experts/replay-routing.ts';
import type { Routing } from '../engine/experts/routing.ts';
import { formatBytes, formatPercent, formatSeconds } from '../engine/input/format.ts';
import { InputError } from '../engine/input/input-error.ts';
import type { Model } from '../engine/model/model.ts';
import { fittingRouting } from '../engine/runtime/observed/replayed-routes.ts';
import { readCount } from '../engine/terminal/options.ts';
import type { DraftTexts } from './speculation.ts';
import { readTextFile } from './text-file.ts';

/** Options of how the experts of a mixture are kept in memory and read, as commander passes them. */
export interface ExpertTexts {
  readonly expertSlots?: string;
  readonly expertPool?: string;
  readonly expertEviction?: string;
  readonly expertReads?: string;
  readonly expertDepth?: string;
  readonly expertLookahead?: string;
  readonly packedExperts?: string;
}

const EXPERT_OPTIONS = {
  slots: new Option(
    '--expert-slots <n>',
    'experts of each layer that stay in memory; others are read when tokens choose them (default: as many as --memory allows)',
  ),
  pool: new Option(
    '--expert-pool <which>',
    'with --expert-slots or --memory: slots of each layer, or of all layers together (default: layer)',
  ).choices(POOLS),
  eviction: new Option(
    '--expert-eviction <policy>',
    'with --expert-slots or --memory: which experts are evicted (default: lru)',
  ).choices(EXPERTS_EVICTIONS),
  reads: new Option(
    '--expert-reads <way>',
    'how experts are read: past the page cache or through it, into slots, or as pages of the mapped file, without slots (default: direct)',
  ).choices(READ_METHODS),
  depth: new Option('--expert-depth <n>', `parallel reads of experts (default: ${USUAL_EXPERTS.depth})`),
  packed: new Option(
    '--packed-experts <file>',
    'with --expert-slots or --memory: a file of hearth pack-experts, from which an expert is one read (default: the model’s file)',
  ),
  lookahead: new Option(
    '--expert-lookahead <what>',
    'what is read before the router has chosen: none, previous-token (what the token before used in the next layer), or next-router, next-router:RANKS (what the next layer’s router chooses of this layer’s input, its first RANKS; all unless given) (default: none)',
  ),
};

/** Replays recorded experts; for commands that evaluate one text. */
const ROUTING = new Option(
  '--routing <file>',
  'use the experts recorded in this file by hearth routing instead of the routers’ choices: for measurements with random weights',
);

/** Adds the options of experts to a command. @param replays whether it takes --routing too */
export function addExpertOptions(command: Command, { replays }: { readonly replays: boolean }): Command {
  for (const option of Object.values(EXPERT_OPTIONS)) command.addOption(option);
  return replays ? command.addOption(ROUTING) : command;
}

/**
 * Reads `--routing`. @throws InputError together with drafts, since a record has experts for each token that is
 * evaluated
 */
export function readRouting({
  routing,
  draft,
  ownDraft,
  lookup,
}: DraftTexts & { readonly routing?: string }): string | undefined {
  const sources = { '--draft': draft, '--own-draft': ownDraft, '--lookup': lookup };
  const [other] = Object.entries(sources).find(([, value]) => value !== undefined) ?? [];
  if (routing !== undefined && other !== undefined)
    throw new InputError('--routing', `has experts for each token that is evaluated; leave ${other} out`);
  return routing;
}

/** The first routing of a file that fits a model, which is said on stderr. @throws InputError as fittingRouting does */
export function openRouting(file: string | undefined, model: Model): Routing | undefined {
  if (file === undefined) return undefined;
  const routing = fittingRouting(parseRoutings(readTextFile(file), file), model, file);
  process.stderr.write(`experts are those of ${file}, whatever the routers choose\n`);
  return routing;
}

/** The names of these options, with what was given. */
export function expertFlags(options: ExpertTexts): Readonly<Record<string, string | undefined>> {
  const { expertSlots, expertPool, expertEviction, expertReads, expertDepth, expertLookahead, packedExperts } = options;
  return {
    ...{ '--expert-slots': expertSlots, '--expert-pool': expertPool, '--expert-eviction': expertEviction },
    ...{ '--expert-reads': expertReads, '--expert-depth': expertDepth, '--expert-lookahead': expertLookahead },
    '--packed-experts': packedExperts,
  };
}

/**
 * @param memory what `--memory` was given
 * @returns what was asked for; `undefined` without any of the options
 * @throws InputError for what is impossible together
 */
export function readExperts(options: ExpertTexts, memory: string | undefined): Partial<ExpertsPolicy> | undefined {
  const { expertSlots, expertPool, expertEviction, expertReads, expertDepth, expertLookahead } = options;
  const [first] = Object.entries(expertFlags(options)).filter(([, value]) => value !== undefined);
  if (first === undefined) return undefined;
  const isMapped = expertReads === 'mmap';
  if (expertSlots === undefined && memory === undefined && !isMapped)
    throw new InputError(first[0], 'is used only with --expert-slots or --memory; add one');
  const lookahead = expertLookahead === undefined ? undefined : readLookahead(expertLookahead);
  const ofSlots = {
    ...{ '--expert-slots': expertSlots, '--expert-pool': expertPool, '--expert-eviction': expertEviction },
    '--packed-experts': options.packedExperts,
  };
  for (const [name, value] of Object.entries(ofSlots))
    if (isMapped && value !== undefined)
      throw new InputError(name, 'is for slots, and --expert-reads mmap has none; leave one out');
  if (expertEviction === 'pinned-hottest' && lookahead !== undefined && lookahead.kind !== 'none')
    throw new InputError(
      '--expert-lookahead',
      'pinned-hottest already holds the hottest experts, so guesses gain nothing; leave one out',
    );
  return {
    ...(expertSlots !== undefined && { slots: readCount('--expert-slots', expertSlots) }),
    ...(expertPool !== undefined && { pool: expertPool as Pool }),
    ...(expertEviction !== undefined && { eviction: expertEviction as ExpertsEviction }),
    ...(expertReads !== undefined && { method: expertReads as ReadMethod }),
    ...(expertDepth !== undefined && { depth: readCount('--expert-depth', expertDepth, 1, MOST_DEPTH) }),
    ...(lookahead !== undefined && { lookahead }),
  };
}

function readLookahead(text: string): Lookahead {
  const [kind, ranks] = text.split(':', 2);
  if (kind === 'next-router') {
    // More ranks than a router chooses are all that it chooses.
    const count = ranks === undefined ? Number.POSITIVE_INFINITY : readCount('--expert-lookahead', ranks);
    return { kind, ranks: count };
  }
  if ((kind === 'none' || kind === 'previous-token') && ranks === undefined) return { kind };
  throw new InputError(
    '--expert-lookahead',
    `is "${text}"; none, previous-token, next-router or next-router:RANKS are possible`,
  );
}

/** The experts that were needed and read, in one line. */
export function describeReads({ needs, reads, ahead, wrong, bytes, waited }: ExpertReads): string {
  const guessed = ahead === 0 ? '' : `, ${ahead} ahead of their need (${wrong} of them for nothing)`;
  const hits = formatPercent(1 - reads / Math.max(1, needs));
  return `experts: ${needs} needed, ${hits} of them in memory; ${reads} were read${guessed}, ${formatBytes(bytes)} in all, ${formatSeconds(waited)} of waiting`;
}
