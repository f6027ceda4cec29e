import type { Turn } from './contestant.ts';

/** An engine with a loaded model, as the contest sees it: Hearth, or a peer that it is compared with. */
export interface Engine {
  readonly name: string;
  /** A description of what is measured: version, instruction set, location of the weights. */
  readonly description: string;
  /** Whether `decode` goes on from the tokens before; otherwise each call begins with an empty context. */
  readonly continues: boolean;
  prefill(tokens: number): Promise<Turn>;
  decode(tokens: number): Promise<Turn>;
  /** Continues so many texts at once, each by `tokens` after its first. Default: it has one text at a time. */
  requests?(count: number, tokens: number): Promise<Turn>;
  close(): void;
}
