import { readFileSync } from 'node:fs';

/** A plugin of esbuild: in a bundle a module's `import.meta.url` and `import.meta.dirname` name its source, not the bundle. */
export function keepPlaces({ url, folder, isKept = () => true, onSource = () => {} }) {
  return {
    name: 'modules keep their places',
    setup: ({ onLoad }) =>
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (!isKept(path)) return undefined;
        const text = readFileSync(path);
        onSource(path, text.length);
        const contents = text
          .toString()
          .replaceAll('import.meta.url', url(path))
          .replaceAll('import.meta.dirname', folder(path));
        return { contents, loader: 'ts' };
      }),
  };
}
