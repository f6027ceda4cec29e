import type { Paper } from './comparison.ts';

/** Papers as reports call them, in the order in which they are shown. */
export const PAPER_TITLES: Readonly<Record<Paper, string>> = {
  prima: 'prima.cpp',
  helm: 'HELM',
  heterollm: 'HeteroLLM',
};
