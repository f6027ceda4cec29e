import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { SHARED } from './shared-folder.ts';

/** Results of a forward pass in double precision with a golden model: 64 tokens, with the logits of five positions. */
export interface GoldenArchitecture {
  readonly tokens: readonly number[];
  readonly positions: readonly number[];
  /** [positions][vocabulary] */
  readonly reference: { readonly logits: readonly (readonly number[])[] };
  /** The chosen experts of each token by layer of the file, in ascending order: [layer][token][experts] */
  readonly routing?: { readonly experts: Readonly<Record<string, readonly (readonly number[])[]>> };
}

/** One model of each family comes with the tests; the others lie in the shared folder, where there is one. */
const OWN = join(import.meta.dirname, '../golden/architectures');
const ALL = join(SHARED, 'golden/architectures');
const own = new Set(readdirSync(OWN).flatMap((file) => /^(.*)\.gguf\.gz$/.exec(file)?.[1] ?? []));

let folder: string | undefined;

/** The models that are here. */
export function goldenArchitectureNames(): string[] {
  const shared = existsSync(ALL) ? readdirSync(ALL).flatMap((file) => /^(.*)\.gguf$/.exec(file)?.[1] ?? []) : [];
  return [...new Set([...own, ...shared])].sort();
}

/** Whether a model is here. */
export function hasGoldenArchitecture(name: string): boolean {
  return own.has(name) || existsSync(join(ALL, `${name}.gguf`));
}

export function goldenArchitecture(name: string): GoldenArchitecture {
  const text = own.has(name) ? unpacked(`${name}.json`) : readFileSync(join(ALL, `${name}.json`));
  return JSON.parse(text.toString());
}

/** The path of a model's file; ours are unpacked into a temporary folder that is removed with the process. */
export function goldenArchitecturePath(name: string): string {
  if (!own.has(name)) return join(ALL, `${name}.gguf`);
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'hearth-golden-'));
    process.on('exit', () => rmSync(made, { recursive: true, force: true }));
    folder = made;
  }
  const path = join(folder, `${name}.gguf`);
  if (!existsSync(path)) writeFileSync(path, unpacked(`${name}.gguf`));
  return path;
}

function unpacked(file: string): Buffer {
  return gunzipSync(readFileSync(join(OWN, `${file}.gz`)));
}
