import type { LabFiles } from '../../../experiments/lab/system.ts';

/** A file system in memory, for tests. A folder exists if it has a file or was created. */
export function treeOf(files: Readonly<Record<string, string>>): LabFiles & { readonly content: Map<string, string> } {
  const content = new Map(Object.entries(files));
  const folders = new Set<string>();
  const isFolder = (path: string): boolean =>
    folders.has(path) || [...content.keys()].some((file) => file.startsWith(`${path}/`));
  return {
    content,
    exists: (path) => content.has(path) || isFolder(path),
    read(path) {
      const text = content.get(path);
      if (text === undefined) throw new Error(`ENOENT: ${path}`);
      return text;
    },
    write: (path, text) => content.set(path, text),
    list(path) {
      const below = [...content.keys(), ...folders].filter((file) => file.startsWith(`${path}/`));
      return [...new Set(below.map((file) => file.slice(path.length + 1).split('/')[0] as string))];
    },
    makeFolder(path) {
      if (isFolder(path)) throw new Error(`EEXIST: ${path}`);
      folders.add(path);
    },
    removeFolder(path) {
      if (!folders.delete(path)) throw new Error(`ENOENT: ${path}`);
    },
  };
}
