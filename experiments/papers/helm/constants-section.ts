import { threeDigits } from '../../../engine/terminal/format.ts';
import type { Section } from '../../lib/report.ts';
import { dispatchOf, type HelmConstants } from './constants.ts';
import { type CellPlace, FITTED_CELLS, type FittedCell } from './fitted-cells.ts';
import { helmSystemName } from './groups.ts';
import { helmSystems } from './systems.ts';

const NAMES: Readonly<Record<FittedCell['constant'], string>> = {
  gpuEfficiency: 'share of its specified bandwidth that a server’s GPU reaches; vLLM’s time per block',
  dispatch: 'time to dispatch a block from Python',
  cpuBandwidth: 'rate at which the CPU reads weights',
  promptRate: 'rate of the CPU on a prompt over the FP32 rate that its file states',
  attentionShare: 'share of a block’s dispatch that is one request’s attention, with 32 heads',
  copyShare: 'share of the host link’s rate that Accelerate’s copies reach',
};

/** Every constant that was fitted, to which cells and why these; how each system is represented. */
export function constantsSection(constants: HelmConstants): Section {
  return {
    title: 'What was fitted, and what was chosen',
    blocks: [
      {
        kind: 'table',
        columns: [
          { title: 'constant' },
          { title: 'machine', label: true },
          { title: 'value', align: 'right' },
          { title: 'fitted to' },
          { title: 'why this cell' },
        ],
        rows: [
          ...FITTED_CELLS.map((fitted) => [
            NAMES[fitted.constant],
            fitted.machine || 'all',
            constantText(constants, fitted),
            fitted.cells.map(placeText).join('; '),
            fitted.reason,
          ]),
          [
            NAMES.dispatch,
            'helm-4060',
            milliseconds(dispatchOf(constants, 'helm-4060')),
            'none: assumed, the mean of the two servers’',
            'no cell of the laptop tells it; behind the 8B’s reading it hides, and 0.9 ms of it behind the 4B’s',
          ],
        ],
        groups: true,
      },
      {
        kind: 'text',
        text: 'Every other print of a quantity that is fitted to counts as fitted. Cells of Table 6.5 to which the thesis says that it calibrated δ̄ are held out here, where nothing is fitted to them. Arithmetic of the GPUs on prompts is specified: tensor cores, 16 bits accumulated in 32 (23.2, 71.2 and 362 TFLOPS). A prompt has 128 tokens, and a token is decoded with 192 in the KV cache, the middle of 128 after it.',
      },
      {
        kind: 'table',
        title: 'How each system is represented',
        columns: [{ title: 'system', label: true }, { title: 'as' }],
        rows: helmSystems().map(([name, { reason }]) => [helmSystemName(name), reason]),
      },
    ],
  };
}

function placeText({ table, row, column }: CellPlace): string {
  return `${table}, ${row}, ${column}`;
}

function constantText(constants: HelmConstants, { constant, machine }: FittedCell): string {
  switch (constant) {
    case 'gpuEfficiency':
      return `${share(constants.gpuEfficiency)}; ${milliseconds(constants.vllmBlock)}`;
    case 'dispatch':
      return milliseconds(constants.dispatch[machine] ?? Number.NaN);
    case 'cpuBandwidth':
      return `${threeDigits((constants.cpuBandwidth[machine] ?? Number.NaN) / 1e9)} GB/s`;
    case 'promptRate':
      return share(constants.promptRate[machine] ?? Number.NaN);
    case 'attentionShare':
      return share(constants.attentionShare);
    case 'copyShare':
      return share(constants.copyShare);
  }
}

const share = (value: number): string => `${(100 * value).toFixed(1)} %`;
const milliseconds = (seconds: number): string => `${threeDigits(1000 * seconds)} ms`;
