import * as Inputs from '@observablehq/inputs';

export interface SliderOptions {
  readonly value: number;
  readonly step: number;
  /** `log` for quantities that span orders of magnitude. */
  readonly scale?: 'linear' | 'log';
}

/** A slider with a field for its number; both carry the label, so that screen readers name them. */
export function slider(label: string, [least, most]: readonly [number, number], options: SliderOptions): HTMLElement {
  const { value, step, scale = 'linear' } = options;
  const transform = scale === 'log' ? { transform: Math.log } : {};
  const form: HTMLElement = Inputs.range([least, most], { label, value, step, ...transform });
  form.querySelector('input[type=range]')?.setAttribute('aria-label', label);
  return form;
}
