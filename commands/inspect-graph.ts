import { formatBytes, threeDigits } from '../engine/input/format.ts';
import type { GraphNode, GraphUnit, ModelGraph } from '../engine/runtime/pass/graph.ts';
import { formatTable } from '../engine/terminal/table.ts';

/** The operators of each unit, and what crosses to the next; layers that are alike share their rows. */
export function graphTable({ units, tokens, context }: ModelGraph): string {
  const right = (title: string) => ({ title, align: 'right' as const });
  const rows = alikeUnits(units).flatMap(([first, last]) => {
    const unit = units[first] as GraphUnit;
    const name = first === last ? unit.name : `layers ${first - 1}–${last - 1}`;
    const nodes = unit.nodes.map((node, index) => [
      index === 0 ? name : '',
      node.kind,
      node.weights === undefined ? '' : `${weightsName(node)} ${node.weights.format}`,
      shapeText(node.input),
      shapeText(node.output),
      flopsText(node.flops),
      bytesText(node.weightBytes),
      bytesText(node.cacheBytes),
    ]);
    const sum = [
      '',
      'one unit',
      '',
      '',
      '',
      flopsText(unit.flops),
      bytesText(unit.weightBytes),
      bytesText(unit.cacheBytes),
    ];
    const { crossing } = unit;
    const crosses =
      crossing === undefined
        ? []
        : [['', 'crosses', '', '', shapeText(crossing.shape), '', formatBytes(crossing.bytes), '']];
    return [...nodes, sum, ...crosses];
  });
  const table = formatTable(
    [
      { title: 'Unit' },
      { title: 'Operator' },
      { title: 'Weights' },
      right('In'),
      right('Out'),
      right('MFLOP'),
      right('Reads'),
      right('KV cache'),
    ],
    rows,
  );
  const what = tokens === 1 ? '1 token' : `${tokens} tokens`;
  return `${what}, the last of which sees ${context} positions; ${units.length} partition units. Shapes are [tokens, values].\n\n${table}`;
}

/** Runs of units with the same operators, shapes and formats: first and last index. */
function alikeUnits(units: readonly GraphUnit[]): [number, number][] {
  const signature = ({ nodes }: GraphUnit): string =>
    JSON.stringify(nodes.map(({ kind, input, output, weights }) => [kind, input, output, weights?.format]));
  const runs: [number, number][] = [];
  for (const [index, unit] of units.entries()) {
    const run = runs.at(-1);
    if (run !== undefined && signature(units[run[0]] as GraphUnit) === signature(unit)) run[1] = index;
    else runs.push([index, index]);
  }
  return runs;
}

/** The graph for Graphviz: a cluster for each unit. */
export function graphDot({ model, units }: ModelGraph): string {
  const lines = units.flatMap(({ name, nodes, crossing }, unit) => [
    `  subgraph "cluster ${unit}" {`,
    `    label=${JSON.stringify(crossing === undefined ? name : `${name}; ${formatBytes(crossing.bytes)} cross`)};`,
    ...nodes.map((node) => `    ${node.index} [label=${JSON.stringify(nodeLabel(node))}];`),
    '  }',
  ]);
  const edges = units.flatMap(({ nodes }) =>
    nodes.flatMap(({ index, after }) => after.map((from) => `  ${from} -> ${index};`)),
  );
  const head = [`digraph ${JSON.stringify(model.name)} {`, '  node [shape=box];'];
  return `${[...head, ...lines, ...edges, '}'].join('\n')}\n`;
}

function nodeLabel(node: GraphNode): string {
  const { kind, weights, output, flops, weightBytes, cacheBytes } = node;
  const costs = flops === 0 ? '' : `\n${flopsText(flops)} MFLOP, ${formatBytes(weightBytes + cacheBytes)}`;
  return `${kind}${weights === undefined ? '' : ` ${weights.tensor}`}\n${shapeText(output)}${costs}`;
}

/** `attn_q` of `blk.3.attn_q.weight`. */
function weightsName({ weights }: GraphNode): string {
  return (weights?.tensor ?? '').replace(/^blk\.\d+\./, '').replace(/\.weight$/, '');
}

const shapeText = (shape: readonly number[]): string => `[${shape.join(', ')}]`;
const flopsText = (flops: number): string => (flops === 0 ? '' : threeDigits(flops / 1e6));
const bytesText = (bytes: number): string => (bytes === 0 ? '' : formatBytes(bytes));
