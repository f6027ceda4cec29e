import { withoutEmptyColumns } from '../../../engine/terminal/table.ts';
import type { TableBlock } from '../../lib/report.ts';

/** A table without its empty columns; the tones go with their cells. */
export function filled(block: TableBlock): TableBlock {
  const { columns, rows } = withoutEmptyColumns(block.columns, block.rows);
  if (block.tones === undefined) return { ...block, columns, rows };
  const kept = block.columns.map((column) => columns.includes(column));
  return { ...block, columns, rows, tones: block.tones.map((row) => row.filter((_, index) => kept[index])) };
}
