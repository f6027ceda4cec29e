/// <reference types="vite/client" />

declare module '@observablehq/inputs';

/** A file's bytes as a data URL. */
declare module '*?inline' {
  const url: string;
  export default url;
}
