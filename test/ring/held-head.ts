import { equalLayout, headHere, requestOf, SETTINGS } from './ring-in-process.ts';

/** A head that keeps a long request at a worker until it is killed. Arguments: model, address. */
const [path = '', address = ''] = process.argv.slice(2);
const context = 65_536;
const settings = { ...SETTINGS, context, requests: 1, pageTokens: context };
const { head } = headHere(path, [{ name: 'w', address, publicKey: undefined }], { settings });
await head.gather();
await head.assemble(equalLayout(['w'], 4));
await requestOf(head).evaluate([1, 2, 3]);
setInterval(() => {}, 1000);
