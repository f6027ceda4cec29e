import { formatBytes, threeDigits } from '../../../engine/input/format.ts';
import { type Column, tableBlock } from '../../report/columns.ts';
import type { Section } from '../../report/page/page.ts';
import { bothAnswers, type ValueText } from '../tables.ts';
import { quantityText, rangeText } from '../text.ts';
import type { Contradiction } from './contradictions.ts';
import { LARGER_D3 } from './machines.ts';
import { LLAMA_CPP, PRIMA_CPP } from './program.ts';
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
          text: 'With the memory that Table 3 states these cells are impossible: under no plan and no way to reclaim does a token take less than what stands under "at least", for which every RAM and VRAM is full of weights, all disks read without a pause, and computing takes no time. They are shown under that memory, and not counted; with "D3 larger" both are possible.',
        },
        tableBlock({ columns, rows, sparse: true }),
      ],
    },
  ];
}

const GIB = 2 ** 30;

/** The fitted constants (none), and the policy chosen for each system, with the reason. */
export function policiesSection(comparisons: readonly PrimaComparison[]): Section {
  const policies = new Map(
    comparisons.flatMap(({ cell: { system }, detail: { policy } }) =>
      policy === undefined ? [] : [[`${system}\n${policy.name}`, { system, policy }] as const],
    ),
  );
  const [low, high] = [threeDigits(LARGER_D3.low / GIB), threeDigits(LARGER_D3.high / GIB)];
  return {
    title: 'What was fitted, and what was chosen',
    blocks: [
      {
        kind: 'text',
        text: 'No constant was fitted to any time. One policy was chosen per system, for the reason in the table below; the room of prima.cpp’s KV cache is read off Table 5. Where the paper’s own numbers decide between policies, the choice uses these numbers, so the tables above show the alternatives as well.',
      },
      {
        kind: 'text',
        text: `"D3 larger" is ${formatBytes(LARGER_D3.middle)} of RAM for D3 instead of the 9.7 GiB that Table 3 states, the middle of ${low} to ${high} GiB: as much as llama.cpp’s 45B needs to run at memory speed and its 60B to reload. The scheduler still sees the stated 9.7 GiB. Since it is derived from these two cells, they are no test of it.`,
      },
      {
        kind: 'text',
        text: 'prima.cpp’s plans are the exact optimum of the paper’s objective, with the output layer on the head’s CPU unless the head works alone. The released program has another one (no memory reads, no copies, 80 % of the available RAM); what it planned in these runs is not known. Of plans that this objective holds equal, as it does where equal devices share reloads, the even one is taken.',
      },
      {
        kind: 'text',
        text: `llama.cpp has room for ${LLAMA_CPP.room} tokens, as in the commands of prima.cpp’s documentation (-c 1024); Table 5’s llama.cpp column agrees. prima.cpp has room for ${PRIMA_CPP.room}: Table 5 leaves it at most 330 (see there), and so many do the documented commands decode (-n 256). Beside its buffers, whose size follows from the model’s shape, the released prima.cpp leaves ${formatBytes(PRIMA_CPP.keptBack)} of VRAM to CUDA, which the program of April 2025 did not: so it holds for Tables 7, 8 and 10, which the paper’s first version of that month lacks, and not for Tables 4 and 9, whose times of 30B and more stand there already.`,
      },
      tableBlock({
        columns: [
          { title: 'system', value: ({ system }) => systemName(system), label: true },
          { title: 'policy', value: ({ policy }) => policy.name, label: true },
          { title: 'plan by', value: ({ policy }) => policy.scheduler, label: true },
          { title: 'predicted', value: ({ policy }) => policy.predicted, label: true },
          { title: 'simulated', value: ({ policy }) => policy.simulated, label: true },
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
        text: `Columns with a target only. One input at a time is set to both ends of its range; the answer is the one claimed for the system. The schedulers see the changed input, except for the RAM of D3. Why each is uncertain: ${reasons}.`,
      },
      tableBlock({ columns, rows: sensitivities, sparse: true }),
    ],
  };
}
