/**
 * The program of a page: draws every figure, redraws it when the reader chooses another variant, and fits figures to
 * paper. It reads the figures from JSON elements beside them.
 */
export const SCRIPT = `
'use strict';
const options = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ['lasso2d', 'select2d'] };
for (const figure of document.querySelectorAll('figure')) {
  const variants = JSON.parse(figure.querySelector('script').textContent);
  const plot = figure.querySelector('.plot');
  const select = figure.querySelector('select');
  const draw = () => {
    const { data, layout } = variants[select ? select.selectedIndex : 0];
    return Plotly.react(plot, data, layout, options);
  };
  if (select) select.addEventListener('change', draw);
  draw();
}
const PAPER = 680;
const fit = (width) => {
  for (const plot of document.querySelectorAll('.plot')) {
    Plotly.relayout(plot, width ? { width, autosize: false } : { width: null, autosize: true });
  }
};
window.addEventListener('beforeprint', () => fit(PAPER));
window.addEventListener('afterprint', () => fit());
`;
