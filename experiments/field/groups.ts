import type { CataloguePart } from '../../engine/hardware/parse-devices.ts';
import type { JudgedCell } from './efficiency.ts';

/** The name of the group to which a cell belongs; `undefined` for none. */
export type GroupOf = (cell: JudgedCell) => string | undefined;

/** Kinds of processor, several machines apart from one. */
export const kindOf = ({ known: { processor, count } }: JudgedCell): string =>
  count > 1 ? `several ${processor}` : processor;

/** Program, kind of processor and phase. */
export const programOf = (cell: JudgedCell): string =>
  `${cell.known.program}, ${kindOf(cell)}, ${cell.known.test.phase}`;

/** The repository or the site that published it, and the phase. */
export function sourceOf({ measurement: { source }, known: { test } }: JudgedCell): string {
  const address = source.replace(/^https?:\/\/(?:www\.)?/, '');
  const [site = '', owner, name] = address.split(/[/ ]/);
  return `${site === 'github.com' ? `${owner}/${name}` : site}, ${test.phase}`;
}

/** Decode cells by the length that their source states, tokens. */
export function contextOf({ known: { test } }: JudgedCell): string | undefined {
  if (test.phase === 'prefill') return undefined;
  if (!test.stated) return 'context not stated';
  if (test.context <= 1024) return 'context up to 1024';
  return test.context <= 8192 ? 'context up to 8192' : 'context above 8192';
}

/** Billions of weights up to which a model counts as small. */
const SMALL = 2;

/** Decode cells by program, kind of processor, and whether the model is small by the billions in its name. */
export function sizeOf(cell: JudgedCell): string | undefined {
  const { model, test } = cell.known;
  const billions = /(\d+(?:\.\d+)?)b\b/i.exec(model)?.[1];
  if (test.phase === 'prefill' || billions === undefined) return undefined;
  return `${cell.known.program}, ${kindOf(cell)}, ${Number(billions) <= SMALL ? `up to ${SMALL}B` : `above ${SMALL}B`}`;
}

/** Cells of GPUs with their own memory, by program, generation, phase and, for decode, size. */
export function generationOf(devices: readonly CataloguePart[]): GroupOf {
  const families = new Map(devices.flatMap((part) => (part.kind === 'gpu' ? [[part.name, part.family]] : [])));
  return (cell) => {
    const { preset, processor, program, test } = cell.known;
    const family = families.get(preset.split(' + ').at(-1) ?? '');
    if (processor !== 'discrete' || family === undefined) return undefined;
    const size = sizeOf(cell)?.split(', ').at(-1);
    return [program, family, test.phase, ...(size === undefined ? [] : [size])].join(', ');
  };
}
