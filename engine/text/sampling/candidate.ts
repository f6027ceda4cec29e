/** A token that may come next. Lists of candidates are in order: the highest logit first, ties by token. */
export interface Candidate {
  readonly token: number;
  readonly logit: number;
}
