import type { Plugin } from 'esbuild';

export interface KeptPlaces {
  /** JavaScript that gives the address of a source, and the path of its folder. */
  readonly url: (path: string) => string;
  readonly folder: (path: string) => string;
  /** Whether a module keeps its place; all do unless given. */
  readonly isKept?: (path: string) => boolean;
  /** Called with each source and its bytes. */
  readonly onSource?: (path: string, bytes: number) => void;
}

export function keepPlaces(places: KeptPlaces): Plugin;
