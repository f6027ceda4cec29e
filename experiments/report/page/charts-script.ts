import { DARK } from '../charts/colours.ts';

/**
 * The program of a page with charts: unpacks the plotting library, draws every figure, redraws it when the reader
 * chooses another variant or the system turns dark, puts legends below charts on narrow screens, fits figures to paper,
 * and saves a chart as it is on paper. It reads the figures from JSON elements next to them.
 */
export const CHARTS = `
'use strict';
(async () => {
  const packed = Uint8Array.from(atob(document.getElementById('plotly').textContent), (one) => one.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  const library = document.createElement('script');
  library.textContent = await new Response(unpacked).text();
  document.head.append(library);

  // Nothing leaves the page: sharing a chart would upload it.
  const options = {
    responsive: true,
    displaylogo: false,
    showSendToCloud: false,
    plotlyServerURL: '',
    modeBarButtonsToRemove: ['toImage', 'lasso2d', 'select2d'],
  };
  const darkColours = ${JSON.stringify(DARK)};
  const dark = matchMedia('(prefers-color-scheme: dark)');
  // Up to here a legend next to a chart would leave it too little room.
  const narrow = matchMedia('(max-width: 900px)');
  const print = matchMedia('print');
  const coloured = (text) => {
    if (!dark.matches || print.matches) return text;
    return text.replace(/#[0-9a-fA-F]{6}/g, (colour) => darkColours[colour] ?? colour);
  };
  // Lines of at most this many letters, broken between words.
  const broken = (text, letters) =>
    text
      .split('<br>')
      .map((line) => line.split(' ').reduce((lines, word) => {
        const last = lines.at(-1);
        if (last !== undefined && last.length + word.length < letters) return [...lines.slice(0, -1), last + ' ' + word];
        return [...lines, word];
      }, []).join('<br>'))
      .join('<br>');
  const linesOf = (text) => text.split('<br>').length;
  const LETTER = 7;
  const LABEL = 24;
  const titled = (axis, pixels) => {
    const text = axis?.title?.text;
    return text ? { ...axis, title: { ...axis.title, text: broken(text, pixels / LETTER) } } : axis;
  };
  // Labels of rows break, and rows grow with them.
  const labelled = (axis) => {
    if (axis?.categoryarray === undefined) return { axis, more: 0, pixels: 60 };
    const ticktext = axis.categoryarray.map((text) => broken(text, LABEL));
    const lines = Math.max(...ticktext.map(linesOf)) - Math.max(...axis.categoryarray.map(linesOf));
    const longest = Math.max(...ticktext.flatMap((text) => text.split('<br>')).map(({ length }) => length));
    return { axis: { ...axis, tickvals: axis.categoryarray, ticktext }, more: 11 * lines * ticktext.length, pixels: 20 + LETTER * longest };
  };
  // Columns too narrow for their labels and for the totals above them have both upright.
  const COLUMN = 44;
  const columnOf = ({ categoryarray, tickangle }) => {
    if (tickangle !== 0) return COLUMN;
    return Math.max(COLUMN, LETTER * Math.max(...categoryarray.flatMap((text) => text.split('<br>')).map(({ length }) => length)));
  };
  const crowded = (axis, pixels) => axis?.categoryarray !== undefined && axis.categoryarray.length * columnOf(axis) > pixels;
  const upright = (axis) => {
    if (!axis.categoryarray.some((text) => text.includes('<br>'))) return axis;
    return { ...axis, tickvals: axis.categoryarray, ticktext: axis.categoryarray.map((text) => text.replaceAll('<br>', ', ')), tickangle: -90 };
  };
  const turned = (one) => (typeof one.x === 'string' && one.yanchor === 'bottom' ? { ...one, textangle: -90 } : one);
  const fitted = ({ data, layout }, width) => {
    if (!narrow.matches) return { data, layout };
    const names = data.filter(({ name, showlegend }) => name !== undefined && showlegend !== false).map(({ name }) => name);
    const inPairs = names.every((name) => LETTER * name.length + 44 <= width / 2);
    const rows = layout.showlegend === false ? 0 : inPairs ? Math.ceil(names.length / 2) : names.length;
    const bars = data.some(({ colorbar }) => colorbar !== undefined) ? 112 : 0;
    const { t = 30, r = 10, b = 60 } = layout.margin ?? {};
    // The toolbar always shows on phones: labels stand below it, and a finger that scrolls the page doesn't zoom.
    const top = Math.max(t, 56);
    const right = (layout.annotations ?? []).some(({ xref, x }) => xref === 'paper' && x >= 1) ? r : 10;
    const { axis, more, pixels } = labelled(layout.yaxis);
    const room = width - pixels - 50;
    const inner = (layout.height ?? 450) - t - b + more;
    const columns = titled(layout.xaxis, room);
    // Room for everything below the chart, so that the library doesn't look for it again and again.
    const below = b + 20 * (rows + linesOf(columns?.title?.text ?? '')) + bars;
    const height = inner + top + below;
    const legend = { ...layout.legend, orientation: inPairs ? 'h' : 'v', x: 0, xanchor: 'left', yref: 'container', y: bars / height, yanchor: 'bottom' };
    // Scales of colours lie below the chart.
    const scale = { orientation: 'h', x: 0, xanchor: 'left', xref: 'container', y: 0, yref: 'container', yanchor: 'bottom', lenmode: 'pixels', len: width - 20, tickangle: 0 };
    const wide = ({ title, ...bar }) => ({
      ...bar,
      ...(title && { title: { ...title, side: 'bottom', font: { size: 12 }, text: title.text.replaceAll('<br>', ' ') } }),
      ...scale,
    });
    const drawn = data.map((one) => (one.colorbar ? { ...one, colorbar: wide(one.colorbar) } : one));
    const margin = { ...layout.margin, t: top, r: right, b: below, l: 50 };
    const isCrowded = crowded(columns, room);
    const axes = { xaxis: isCrowded ? upright(columns) : columns, yaxis: titled(axis, inner) };
    const annotations = isCrowded ? (layout.annotations ?? []).map(turned) : layout.annotations;
    return { data: drawn, layout: { ...layout, ...axes, annotations, width: undefined, height, legend, margin, dragmode: false } };
  };
  const drawings = Array.from(document.querySelectorAll('figure'), (figure) => {
    const text = figure.querySelector('script').textContent;
    const plot = figure.querySelector('.plot');
    const select = figure.querySelector('select');
    const draw = () => {
      // A chart in a closed part has no width yet.
      const width = plot.clientWidth || document.querySelector('main > h1').clientWidth;
      const { data, layout } = fitted(JSON.parse(coloured(text))[select ? select.selectedIndex : 0], width);
      return Plotly.react(plot, data, layout, options);
    };
    if (select) select.addEventListener('change', draw);
    const save = async (format) => {
      const at = select ? select.selectedIndex : 0;
      const { data, layout } = JSON.parse(text)[at];
      const size = { width: Math.max(480, plot.clientWidth), height: layout.height ?? 450 };
      const link = document.createElement('a');
      link.href = await Plotly.toImage({ data, layout }, { ...size, format, scale: format === 'png' ? 3 : 1 });
      link.download = JSON.parse(figure.dataset.names)[at] + '.' + format;
      link.click();
    };
    for (const button of figure.querySelectorAll('.saves button')) {
      button.addEventListener('click', () => save(button.dataset.format));
    }
    draw();
    return () => {
      // The library keeps margins of scales and legends that stood elsewhere.
      Plotly.purge(plot);
      draw();
    };
  });
  const drawAll = () => drawings.forEach((drawAnew) => drawAnew());
  dark.addEventListener('change', drawAll);
  narrow.addEventListener('change', drawAll);
  // Only the width decides what fits a narrow screen; the height changes as a phone's address bar comes and goes.
  let width = innerWidth;
  window.addEventListener('resize', () => {
    if (innerWidth === width) return;
    width = innerWidth;
    if (narrow.matches) drawAll();
  });

  // A chart in a closed part gets its width when the part is opened.
  for (const part of document.querySelectorAll('details')) {
    part.addEventListener('toggle', () => part.open && part.querySelectorAll('.plot').forEach(Plotly.Plots.resize));
  }

  const PAPER = 680;
  const fit = (width) => {
    drawAll();
    for (const plot of document.querySelectorAll('.plot')) {
      Plotly.relayout(plot, width ? { width, autosize: false } : { width: null, autosize: true });
    }
  };
  window.addEventListener('beforeprint', () => {
    for (const part of document.querySelectorAll('details.part')) part.open = true;
    fit(PAPER);
  });
  window.addEventListener('afterprint', () => fit());
})();
`;
