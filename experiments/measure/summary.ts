import { formatPercent } from '../../engine/input/format.ts';
import { median } from '../report/median.ts';
import { errorLine, type PageTop } from '../report/page-top.ts';
import { type Answer, type CellAnswers, deviation, PHASES, type Phase } from './cell.ts';

/** Errors of one answer in one phase over all cells. */
export interface Errors {
  readonly median: number;
  readonly worst: number;
  readonly worstCell: CellAnswers;
}

/** Median error that is aimed at in each phase. */
export const AIMS: Readonly<Record<Phase, number>> = { tpot: 0.05, ttft: 0.1 };

/** @param cells at least one */
export function errorsOf(cells: readonly CellAnswers[], answer: Answer, phase: Phase): Errors {
  const errors = cells.map((cell) => Math.abs(deviation(cell, answer, phase)));
  const worst = Math.max(...errors);
  return { median: median(errors), worst, worstCell: cells[errors.indexOf(worst)] as CellAnswers };
}

/** `Random-0.5B Q8_0, 2 threads, prompt of 128`. */
export function cellName({ model, threads, promptTokens }: CellAnswers): string {
  return `${model.name} ${model.mix}, ${threads === 1 ? '1 thread' : `${threads} threads`}, prompt of ${promptTokens}`;
}

/** Errors of predictions in a sentence, and of both answers in lines. */
export function measureTop(cells: readonly CellAnswers[]): PageTop {
  const [tokens, prompts] = PHASES.map((phase) => errorsOf(cells, 'predicted', phase).median);
  const errors = (answer: Answer, phase: Phase): number[] =>
    cells.map((cell) => Math.abs(deviation(cell, answer, phase)));
  return {
    headline: `Known from probes alone, this machine’s seconds per token are predicted within ${formatPercent(tokens ?? 0)} in the median of ${cells.length} cells, those of prompts within ${formatPercent(prompts ?? 0)}.`,
    findings: PHASES.map((phase) =>
      errorLine({
        what: phase === 'tpot' ? 'tokens' : 'prompts',
        predicted: errors('predicted', phase),
        simulated: errors('simulated', phase),
        aim: AIMS[phase],
      }),
    ),
  };
}

/** Errors of both answers in both phases, in sentences. */
export function findings(cells: readonly CellAnswers[]): string[] {
  const sentence = (phase: Phase, name: string): string => {
    const [predicted, simulated] = [errorsOf(cells, 'predicted', phase), errorsOf(cells, 'simulated', phase)];
    const spread = median(cells.map(({ measured }) => measured.own[phase].spread));
    return (
      `${name}: predicted with a median error of ${formatPercent(predicted.median)} (worst ` +
      `${formatPercent(predicted.worst)}: ${cellName(predicted.worstCell)}), simulated with ` +
      `${formatPercent(simulated.median)} (worst ${formatPercent(simulated.worst)}), where the measurements ` +
      `themselves spread by ± ${formatPercent(spread)}; the aim is ${formatPercent(AIMS[phase])}.`
    );
  };
  const count = `${cells.length} cells`;
  return [sentence('tpot', `Decode (TPOT), ${count}`), sentence('ttft', `Prefill (TTFT), ${count}`)];
}
