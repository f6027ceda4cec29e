export * from '../report/page/page.ts';
export { type Page as Report, renderPage as renderReport } from '../report/page/page.ts';
