import type { Data } from 'plotly.js-dist-min';

/** A mark with a white rim, which sets it off from what lies below it. */
export function outlined(trace: Data): Data {
  const marker = 'marker' in trace ? trace.marker : undefined;
  return { ...trace, marker: { ...marker, line: { color: '#ffffff', width: 1.5 } } } as Data;
}
