import { formatBytes, threeDigits } from '../../../engine/terminal/format.ts';
import type { Section } from '../../lib/report.ts';
import { systemName } from '../text.ts';
import { LARGER_D3 } from './machines.ts';
import { LLAMA_CPP, PRIMA_CPP } from './program.ts';
import type { Comparison } from './rules.ts';

const GIB = 2 ** 30;

/** What was fitted (nothing), and which policy was chosen for each system, with the reason. */
export function calibrationSection(comparisons: readonly Comparison[]): Section {
  const policies = new Map(
    comparisons.flatMap(({ cell: { system }, policy }) =>
      policy === undefined ? [] : [[`${system}\n${policy.name}`, { system, policy }] as const],
    ),
  );
  const [low, high] = [threeDigits(LARGER_D3.low / GIB), threeDigits(LARGER_D3.high / GIB)];
  return {
    title: 'What was fitted, and what was chosen',
    blocks: [
      {
        kind: 'text',
        text: 'No constant was fitted to any time. What was chosen is one policy per system, for the reason beside it; the tokens that prima.cpp’s KV cache has room for are read off Table 5. Where the paper’s own numbers decide between policies, choosing is a use of these numbers all the same: so the alternatives stand beside the choice in the tables above.',
      },
      {
        kind: 'text',
        text: `"D3 larger" is ${formatBytes(LARGER_D3.middle)} of RAM for D3 instead of the 9.7 GiB that Table 3 states, the middle of ${low} to ${high} GiB: so much must there be for llama.cpp’s 45B to run at memory speed and its 60B to reload. The scheduler still sees the stated 9.7 GiB. Since it comes from these two cells, they test nothing under it.`,
      },
      {
        kind: 'text',
        text: 'prima.cpp’s plans are the exact optimum of the paper’s objective, with the output layer on the head’s CPU unless the head works alone. The released program has another one (no memory reads, no copies, 80 % of the available RAM); what it planned in these runs is not known. Of plans that this objective holds equal, as it does where equal devices share reloads, the even one is taken.',
      },
      {
        kind: 'text',
        text: `llama.cpp has room for ${LLAMA_CPP.room} tokens, as in the commands of prima.cpp’s documentation (-c 1024); Table 5’s llama.cpp column agrees. prima.cpp has room for ${PRIMA_CPP.room}: Table 5 leaves it at most 330 (see there), and so many do the documented commands decode (-n 256). Beside its buffers, whose size follows from the model’s shape, the released prima.cpp leaves ${formatBytes(PRIMA_CPP.keptBack)} of VRAM to CUDA, which the program of April 2025 did not: so it holds for Tables 7, 8 and 10, which the paper’s first version of that month lacks, and not for Tables 4 and 9, whose times of 30B and more stand there already.`,
      },
      {
        kind: 'table',
        columns: [
          { title: 'system', label: true },
          { title: 'policy', label: true },
          { title: 'plan by', label: true },
          { title: 'predicted', label: true },
          { title: 'simulated', label: true },
          { title: 'claimed', label: true },
          { title: 'why' },
        ],
        rows: [...policies.values()].map(({ system, policy }) => [
          systemName(system),
          policy.name,
          policy.scheduler,
          policy.predicted,
          policy.simulated ?? '–',
          policy.claimed ? 'yes' : 'no',
          policy.reason,
        ]),
        groups: true,
      },
    ],
  };
}
