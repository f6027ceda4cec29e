import { threeDigits } from '../../../engine/input/format.ts';
import { type Column, tableBlock } from '../../report/columns.ts';
import type { Section } from '../../report/page/page.ts';
import { type CellPlace, dispatchOf, FITTED_CELLS, type FittedCell, type HelmConstants } from './constants.ts';
import { helmSystemName } from './quantities.ts';
import { helmSystems } from './systems.ts';

const NAMES: Readonly<Record<FittedCell['constant'], string>> = {
  gpuEfficiency: 'share of its specified bandwidth that a server’s GPU reaches; vLLM’s time per block',
  dispatch: 'time to dispatch a block from Python',
  cpuBandwidth: 'rate at which the CPU reads weights',
  promptRate: 'rate of the CPU on a prompt over the FP32 rate that its file states',
  attentionShare: 'share of a block’s dispatch that is one request’s attention, with 32 heads',
  staging: 'rate at which a CPU copies pageable weights to the driver’s pinned buffer',
  dynamicCache: 'dispatch of a block with a DynamicCache over that with HELM’s own cache',
  requestStart: 'time that HELM takes for a request in addition to its prompt',
};

/** A constant with its value and source. */
interface ConstantRow {
  readonly name: string;
  readonly machine: string;
  readonly value: string;
  readonly fittedTo: string;
  readonly reason: string;
}

const CONSTANT_COLUMNS: readonly Column<ConstantRow>[] = [
  { title: 'constant', value: ({ name }) => name },
  { title: 'machine', value: ({ machine }) => machine, label: true },
  { title: 'value', value: ({ value }) => value, align: 'right' },
  { title: 'fitted to', value: ({ fittedTo }) => fittedTo },
  { title: 'why this cell', value: ({ reason }) => reason },
];

const SYSTEM_COLUMNS: readonly Column<ReturnType<typeof helmSystems>[number]>[] = [
  { title: 'system', value: ([name]) => helmSystemName(name), label: true },
  { title: 'as', value: ([, { reason }]) => reason },
];

/** Every fitted constant with its cells and the reason for them; the representation of each system. */
export function constantsSection(constants: HelmConstants): Section {
  const fitted = FITTED_CELLS.map(
    (one): ConstantRow => ({
      name: NAMES[one.constant],
      machine: one.machine || 'all',
      value: constantText(constants, one),
      fittedTo: one.cells.map(placeText).join('; '),
      reason: one.reason,
    }),
  );
  const assumed: ConstantRow = {
    name: NAMES.dispatch,
    machine: 'helm-4060',
    value: milliseconds(dispatchOf(constants, 'helm-4060')),
    fittedTo: 'none: assumed, the mean of the two servers’',
    reason: 'no cell of the laptop tells it; behind the 8B’s reading it hides, and 0.9 ms of it behind the 4B’s',
  };
  return {
    title: 'What was fitted, and what was chosen',
    blocks: [
      tableBlock({ columns: CONSTANT_COLUMNS, rows: [...fitted, assumed], groups: true }),
      {
        kind: 'text',
        text: 'Every other print of a quantity that is fitted to counts as fitted. Cells of Table 6.5 to which the thesis says that it calibrated δ̄ are held out here, where nothing is fitted to them. Arithmetic of the GPUs on prompts is specified: tensor cores, 16 bits accumulated in 32 (23.2, 71.2 and 362 TFLOPS). A prompt has 128 tokens, and a token is decoded with 192 in the KV cache, the middle of 128 after it.',
      },
      tableBlock({ columns: SYSTEM_COLUMNS, rows: helmSystems() }, { title: 'How each system is represented' }),
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
    case 'staging':
      return `${threeDigits(constants.staging / 1e9)} GB/s`;
    case 'dynamicCache':
      return `${threeDigits(constants.dynamicCache)} ×`;
    case 'requestStart':
      return milliseconds(constants.requestStart[machine] ?? Number.NaN);
  }
}

const share = (value: number): string => `${(100 * value).toFixed(1)} %`;
const milliseconds = (seconds: number): string => `${threeDigits(1000 * seconds)} ms`;
