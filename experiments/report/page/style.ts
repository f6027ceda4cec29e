/** The style of pages: light or dark as the system is, readable from 390 px to wide screens, and in print. */
export const STYLE = `
:root { color-scheme: light dark;
  --ink: #1f2933; --soft: #52606d; --line: #e4e7eb; --rule: var(--rule); --tint: #f0f5fa; --accent: #0072b2;
  --page: #ffffff; --around: #f7f8fa; --good: #dff3ea; --fair: #fdf1d3; --bad: #fbe0d6; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e4e7eb; --soft: #a8b3bf; --line: #2f353c; --rule: #4a525b; --tint: #1d2630; --accent: #6cb8ea;
    --page: #16191d; --around: #0f1114; --good: #173b2c; --fair: #423610; --bad: #4a261a; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--around); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1140px; margin: 0 auto; padding: 40px 36px 64px; background: var(--page); }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 4px; letter-spacing: -0.01em; }
h2 { font-size: 21px; margin: 48px 0 8px; }
h3 { font-size: 16px; margin: 28px 0 6px; }
p { max-width: 86ch; margin: 0 0 12px; }
.subtitle { color: var(--soft); margin-bottom: 24px; }
.summary { background: var(--tint); border-left: 4px solid var(--accent); padding: 16px 20px; border-radius: 4px; }
.summary p { margin: 0; max-width: none; }
.summary p + p { margin-top: 8px; }
figure { margin: 16px 0 28px; break-inside: avoid; }
figcaption { font-weight: 600; margin-bottom: 4px; }
figure .note { color: var(--soft); font-size: 14px; margin: 0 0 8px; max-width: none; }
.choice { display: inline-flex; align-items: center; gap: 8px; font-size: 14px; color: var(--soft); margin: 4px 0 8px; }
.choice select { font: inherit; color: var(--ink); padding: 4px 8px; border: 1px solid var(--rule); border-radius: 4px;
  background: var(--page); }
.plot { width: 100%; }
nav ol { display: flex; flex-wrap: wrap; gap: 4px 24px; padding: 0; margin: 20px 0 0; list-style: none; font-size: 14.5px; }
a { color: var(--accent); }
.scroll { overflow-x: auto; margin: 12px 0 24px; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; line-height: 1.4;
  font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; font-size: 16px; padding: 0 0 8px; }
th { text-align: left; font-weight: 600; color: var(--soft); border-bottom: 2px solid var(--rule); vertical-align: bottom; }
th, td { padding: 4px 12px 4px 0; }
th[aria-sort] { cursor: pointer; }
th[aria-sort=ascending]::after { content: ' ↑'; }
th[aria-sort=descending]::after { content: ' ↓'; }
td[data-repeats]:empty::after { content: attr(data-repeats); }
td.label, .whole { white-space: nowrap; }
td { border-bottom: 1px solid var(--line); vertical-align: top; }
th.right, td.right { text-align: right; padding-right: 16px; }
td.right { white-space: nowrap; }
td.good { background: var(--good); }
td.fair { background: var(--fair); }
td.bad { background: var(--bad); }
td.good, td.fair, td.bad { padding-left: 6px; box-shadow: inset -8px 0 var(--page); }
tr.group td { border-top: 2px solid var(--rule); }
details { margin: 8px 0 16px; }
summary { cursor: pointer; color: var(--accent); font-weight: 600; }
footer { margin-top: 56px; color: var(--soft); font-size: 13px; border-top: 1px solid var(--line); padding-top: 12px; }
@media (max-width: 720px) {
  main { padding: 20px 14px 40px; }
  h1 { font-size: 24px; }
}
@media print {
  nav { display: none; }
  body { background: #fff; font-size: 11pt; }
  main { max-width: none; padding: 0; }
  .scroll { overflow: visible; }
  table { font-size: 8.5pt; }
  thead { display: table-header-group; }
  tr, .summary { break-inside: avoid; }
  h2, h3, figcaption, caption { break-after: avoid; }
}
`;
