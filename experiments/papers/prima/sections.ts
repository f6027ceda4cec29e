import { formatBytes } from '../../../engine/input/format.ts';
import { type Column, tableBlock } from '../../report/columns.ts';
import type { Section } from '../../report/page/page.ts';
import { bothAnswers, type ValueText } from '../tables.ts';
import { quantityText, rangeText } from '../text.ts';
import type { Contradiction } from './contradictions.ts';
import { OPERATING_SYSTEMS } from './machines.ts';
import { PRIMA_CPP } from './program.ts';
import { systemName } from './quantities.ts';
import type { PrimaComparison } from './rules.ts';
import { type Sensitivity, UNCERTAIN_INPUTS } from './sensitivity.ts';

const valueText: ValueText<PrimaComparison> = (quantity, { unit }) => quantityText(unit, quantity);

/** Cells that other numbers of the paper exclude, with the arithmetic; no section without such a cell. */
export function contradictionsSection(comparisons: readonly PrimaComparison[]): Section[] {
  const rows = comparisons.filter(({ detail }) => detail.contradiction !== undefined);
  if (rows.length === 0) return [];
  const contradiction = ({ detail }: PrimaComparison): Contradiction => detail.contradiction as Contradiction;
  const columns: readonly Column<PrimaComparison>[] = [
    {
      title: 'cell',
      value: (one) => {
        const { table, row, system } = contradiction(one);
        return `${table}: ${row}, ${systemName(system)} (${one.policy})`;
      },
    },
    { title: 'published', value: (one) => contradiction(one).published, unit: 'seconds' },
    { title: 'at least', value: (one) => contradiction(one).bound, unit: 'seconds' },
    ...bothAnswers(valueText, () => undefined),
    { title: 'arithmetic', value: (one) => contradiction(one).text },
  ];
  return [
    {
      title: 'Contradicted by the paper itself',
      blocks: [
        {
          kind: 'text',
          text: 'With the memory that the devices have these cells are impossible: under no plan and no way to reclaim does a token take less than what stands under "at least", for which every RAM and VRAM is full of weights, all disks read without a pause, and computing takes no time. They are shown, and not counted.',
        },
        tableBlock({ columns, rows, sparse: true }),
      ],
    },
  ];
}

/** The fitted constants (none), and the policy chosen for each system, with the reason. */
export function policiesSection(comparisons: readonly PrimaComparison[]): Section {
  const policies = new Map(
    comparisons.flatMap(({ cell: { system }, detail: { policy } }) =>
      policy === undefined ? [] : [[`${system}\n${policy.name}`, { system, policy }] as const],
    ),
  );
  return {
    title: 'What was fitted, and what was chosen',
    blocks: [
      {
        kind: 'text',
        text: `Each device has one operating system, the same for every system and table: predicted under ${OPERATING_SYSTEMS.predicted} on all devices, simulated as ${OPERATING_SYSTEMS.simulated}, each as itself. What a device has (truth) and what the schedulers see (belief: Table 3) are two values: prima.cpp’s program reports 80 % of what is free on Linux, so Linux devices have a quarter more than Table 3 states. Which reading of a system stands for its column was decided before any error was looked at: prima.cpp is the program’s Halda, since the times were measured with it. The others are shown next to it.`,
      },
      {
        kind: 'text',
        text: 'The times of 30B and more in Tables 4 and 9 stand in the paper’s first version, of April 2025. In those runs the ring began at D1: its README starts the head without a GPU, then the workers with 8 and 11 GiB of VRAM, and one without; the first version prints the split 1:1:29:1 for D1 to D4; and Table 5’s pressure on D1 grows with the vocabulary (the head’s logits: 3.0 and 3.9 % for 32,000 tokens, 4.7 to 6.3 % for 128,256). The cells that the newest version changed (8B and 14B run on D3 alone) have D3 as the head.',
      },
      {
        kind: 'text',
        text: 'The program’s objective has arithmetic and reloads only: no memory reads, no copies, no links (ξ = 0), so that k = 1 is always among its best. In April 2025 every device kept a layer; in July n starts at w, the head is preferred by 1 %, and devices with one layer are removed.',
      },
      {
        kind: 'text',
        text: `Both programs have room for ${PRIMA_CPP.room} tokens, as in the commands of prima.cpp’s documentation (-c 1024); Table 5 leaves prima.cpp 330 at most (see there). In addition to its buffers, whose size follows from the model’s shape, the released prima.cpp leaves ${formatBytes(PRIMA_CPP.keptBack['july-2025'])} of VRAM to CUDA, and the program of April 2025 ${formatBytes(PRIMA_CPP.keptBack['april-2025'])}: the first holds for Tables 7, 8 and 10, which the paper’s first version of that month lacks, the second for Tables 4 and 9, whose times of 30B and more stand there already.`,
      },
      tableBlock({
        columns: [
          { title: 'system', value: ({ system }) => systemName(system), label: true },
          { title: 'policy', value: ({ policy }) => policy.name, label: true },
          { title: 'plan by', value: ({ policy }) => policy.planner, label: true },
          { title: 'claimed', value: ({ policy }) => (policy.claimed ? 'yes' : 'no'), label: true },
          { title: 'why', value: ({ policy }) => policy.reason },
        ],
        rows: [...policies.values()],
        groups: true,
      }),
    ],
  };
}

/** The largest errors with every uncertain input at both ends of its range. */
export function sensitivitySection(sensitivities: readonly Sensitivity[]): Section {
  const reasons = UNCERTAIN_INPUTS.map(({ name, reason }) => `${name}: ${reason}`).join('; ');
  const columns: readonly Column<Sensitivity>[] = [
    {
      title: 'cell',
      value: ({ comparison: { cell, policy, detail } }) =>
        `${detail.table.number}: ${cell.row}, ${systemName(cell.system)} (${policy})`,
    },
    { title: 'published', value: ({ comparison }) => valueText(comparison.published, comparison), align: 'right' },
    { title: 'here', value: ({ comparison, base }) => valueText(base, comparison), align: 'right' },
    ...UNCERTAIN_INPUTS.map(
      ({ name, ends }, index): Column<Sensitivity> => ({
        title: `${name} ${ends.join('…')}`,
        value: ({ comparison, ranges }) => ranges[index] && rangeText(comparison.unit, ranges[index]),
        align: 'right',
      }),
    ),
  ];
  return {
    title: 'What uncertain inputs do to the largest misses',
    blocks: [
      {
        kind: 'text',
        text: `Columns with a target only. One input at a time is set to both ends of its range; results are simulated. The schedulers see the changed input, except for the RAM of a device. Why each is uncertain: ${reasons}.`,
      },
      tableBlock({ columns, rows: sensitivities, sparse: true }),
    ],
  };
}
