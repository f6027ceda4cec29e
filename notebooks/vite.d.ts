/// <reference types="vite/client" />

declare module '@observablehq/inputs';
