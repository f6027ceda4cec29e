import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LATTICES, type Lattice } from '../engine/gguf/formats/lattices.ts';

/** Name of the header, which `native/formats/lattice_quants.hpp` includes. */
const HEADER = 'lattice_points.hpp';

/**
 * The points of engine/gguf/formats/lattices.ts for C++: a table of each lattice, a number of four or eight bytes for a
 * point, its first value lowest. Compilers find the header in `folder` by `-I`.
 */
export function writeLatticeHeader(folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, HEADER), latticeHeader());
}

/** The text of the header. */
export function latticeHeader(): string {
  const tables = Object.entries(LATTICES).map(([name, lattice]) => table(name, lattice));
  return `#pragma once
#include <cstdint>

/** Written by native/lattice-header.ts from engine/gguf/formats/lattices.ts. */
namespace hearth {

${tables.join('\n\n')}

}  // namespace hearth
`;
}

function table(name: string, { width, count, points }: Lattice): string {
  const identifier = `${name.toLowerCase().replace(/_(.)/, (_, letter: string) => letter.toUpperCase())}Points`;
  const numbers = Array.from({ length: count }, (_, point) => {
    const bytes = [...points.subarray(width * point, width * (point + 1))].map((value) => value & 255);
    return `0x${bytes
      .reverse()
      .map((byte) => byte.toString(16).padStart(2, '0'))
      .join('')}u`;
  });
  return `inline constexpr std::uint${8 * width}_t ${identifier}[${count}] = {\n${numbers.join(',\n')}};`;
}
