/**
 * The libraries that lessons may name without importing them. Notebook Kit loads its own list from a content network at
 * run time; these are the installed ones, so that the site makes no foreign requests.
 */
export const Plot = () => import('@observablehq/plot');
export const Inputs = () => import('@observablehq/inputs');
export const html = () => import('htl').then((library) => library.html);
export const svg = () => import('htl').then((library) => library.svg);
