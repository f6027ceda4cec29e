import { createBatchDrafts, type TextChoice, type TextOffers } from '../../text/speculation/batch-drafts.ts';
import { MOST_DRAFTED } from '../../text/speculation/create-speculation.ts';
import { createPromptLookup, type Looked, type PromptLookup } from '../../text/speculation/prompt-lookup.ts';
import type { DraftModel, TextDrafter } from './draft-model.ts';
import type { RequestTask } from './request-task.ts';

/** Sources of drafted tokens: at least one of `lookup` and `model`. */
export interface BatchDraftOptions {
  /** Last tokens that are looked for in a text at most; `undefined`: none. */
  readonly lookup: number | undefined;
  readonly model?: DraftModel | undefined;
  /** Tokens at a time; `undefined`: as many as pay. */
  readonly tokens: number | undefined;
}

/** A text of a pass in which all texts decode. */
export interface DraftedText {
  /** Number of its request. */
  readonly id: number;
  readonly task: RequestTask;
  /** The most tokens that the pass has room for. */
  readonly most: number;
}

/** Tokens that may follow a text's last one. */
export interface Draft {
  readonly source: string;
  /** Tokens that the source was asked for. */
  readonly asked: number;
  readonly tokens: readonly number[];
}

/** Guesses at tokens, text by text, and whether they pay. */
export interface Drafting {
  /** @returns by text; empty: it is a pass without drafts, for which nothing was done */
  draft(texts: readonly DraftedText[]): Promise<readonly (Draft | undefined)[]>;
  /**
   * Records a pass.
   * @param accepted of each text, how many drafted tokens were right
   * @param seconds when it began, when drafts were made, and when tokens were chosen
   */
  passed(drafts: readonly (Draft | undefined)[], accepted: readonly number[], seconds: PassTimes): void;
  /** A text is done. */
  close(id: number): void;
  readonly drafted: number;
  readonly accepted: number;
}

export interface PassTimes {
  readonly begun: number;
  readonly drafted: number;
  readonly ended: number;
}

/** The sources of a text. */
interface Sources {
  readonly lookup: PromptLookup | undefined;
  /** `undefined` while there is no room for it. */
  drafter: TextDrafter | undefined;
}

export function createDrafting({ lookup, model, tokens: fixed }: BatchDraftOptions): Drafting {
  const drafts = createBatchDrafts(fixed);
  const opened = new Map<number, Sources>();
  let [drafted, accepted] = [0, 0];

  const sourcesOf = ({ id, task }: DraftedText): Sources => {
    const known = opened.get(id) ?? {
      lookup: lookup === undefined ? undefined : createPromptLookup(lookup),
      drafter: undefined,
    };
    opened.set(id, known);
    known.drafter ??= model?.open(task.draftSampler);
    return known;
  };
  /** Lets drafters read more of their texts where that is allowed. */
  const readMore = async (texts: readonly DraftedText[], sources: readonly Sources[]): Promise<void> => {
    let left = drafts.allowance;
    const readings = texts.flatMap(({ task: { history }, most }, index) => {
      const drafter = sources[index]?.drafter;
      if (drafter === undefined || most < 1 || drafter.unread(history) === 0) return [];
      if (fixed !== undefined) return drafter.isReady ? [] : [() => drafter.read(history, true)];
      const seconds = drafter.readSeconds(history, 0);
      if (seconds > left) return [];
      left -= seconds;
      return [() => drafter.read(history)];
    });
    if (readings.length > 0) await model?.together(readings);
  };
  const drafterOffer = (drafter: TextDrafter | undefined, { task, most }: DraftedText): TextOffers['model'] =>
    drafter?.isReady ? { source: 'draft', most, ...drafter.offer(task.history) } : undefined;
  const lookupOffer = (found: Looked | undefined): TextOffers['lookup'] =>
    found === undefined || found.tokens.length === 0
      ? undefined
      : { source: `lookup ${found.matched}`, most: found.tokens.length };
  /** Drafts as chosen: those of the model are written together. */
  const carryOut = async (
    texts: readonly DraftedText[],
    choices: readonly (TextChoice | undefined)[],
    sources: readonly Sources[],
    found: readonly (Looked | undefined)[],
  ): Promise<(Draft | undefined)[]> => {
    const writing = choices.flatMap((choice, index) => {
      const [drafter, text] = [sources[index]?.drafter, texts[index]];
      if (choice?.from !== 'model' || drafter === undefined || text === undefined) return [];
      return [async () => [index, await drafter.draft(text.task.history, choice.tokens)] as const];
    });
    const written = new Map(writing.length === 0 ? [] : await model?.together(writing));
    return choices.map((choice, index) => {
      if (choice === undefined) return undefined;
      const tokens = written.get(index) ?? found[index]?.tokens.slice(0, choice.tokens) ?? [];
      return { source: choice.source, asked: choice.tokens, tokens };
    });
  };

  return {
    async draft(texts) {
      if (!drafts.mayDraft(texts.length)) return [];
      const limited = texts.map((text) => ({
        ...text,
        most: Math.min(text.most, text.task.mostDrafted, MOST_DRAFTED, fixed ?? MOST_DRAFTED),
      }));
      const sources = limited.map(sourcesOf);
      await readMore(limited, sources);
      const found = limited.map(({ task, most }, index) =>
        most < 1 ? undefined : sources[index]?.lookup?.find(task.history, most),
      );
      const offers = limited.map((text, index): TextOffers => {
        if (text.most < 1) return { lookup: undefined, model: undefined };
        return { lookup: lookupOffer(found[index]), model: drafterOffer(sources[index]?.drafter, text) };
      });
      const choices = drafts.choose(offers);
      return choices.length === 0 ? texts.map(() => undefined) : await carryOut(limited, choices, sources, found);
    },
    passed(made, right, { begun, drafted: verified, ended }) {
      if (made.length === 0) {
        drafts.plain(right.length, ended - begun);
        return;
      }
      const counted = made.flatMap((draft, index) =>
        draft === undefined ? [] : [{ ...draft, drafted: draft.tokens.length, accepted: right[index] ?? 0 }],
      );
      for (const one of counted) {
        drafted += one.drafted;
        accepted += one.accepted;
      }
      const times = { passSeconds: ended - verified, seconds: ended - begun };
      drafts.passed({ texts: made.length, drafts: counted, ...times });
    },
    close(id) {
      opened.get(id)?.drafter?.close();
      opened.delete(id);
    },
    get drafted() {
      return drafted;
    },
    get accepted() {
      return accepted;
    },
  };
}
