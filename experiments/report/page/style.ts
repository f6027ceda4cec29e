import { STYLE as DESIGN } from '../../../engine/design/design.ts';

/** The style of reports: the common design, and what is theirs alone. Readable from 390 px to wide screens, and in print. */
export const STYLE = `${DESIGN}
body { background: var(--around); }
main { max-width: 1180px; margin: 0 auto; padding: var(--gap-l) 36px 64px; background: var(--page); }
.headline { font-size: var(--text-more); line-height: 1.35; max-width: 60ch; margin: 0 0 var(--gap); text-wrap: pretty; }
.findings { margin: 0 0 var(--gap); padding: 0; list-style: none; }
.findings li { padding: var(--gap-xs) var(--gap-s) var(--gap-xs) 0.75rem; border-left: 4px solid var(--accent); }
.subtitle { color: var(--soft); font-size: var(--text-less); max-width: none; margin: 0 0 var(--gap); }
figure { break-inside: avoid; }
figure > header { margin-bottom: var(--gap-xs); display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: var(--gap-xs) var(--gap); }
.choice { display: inline-flex; flex-wrap: wrap; max-width: 100%; align-items: center; gap: var(--gap-s); font-size: var(--text-less); color: var(--soft);
  margin: var(--gap-xs) var(--gap) var(--gap-xs) 0; }
.choice select, .choice input { max-width: 100%; min-width: 0; }
.plot { width: 100%; }
.contents { font-size: var(--text-less); }
.contents ol { list-style: none; margin: 0; padding: 0; }
.contents li { padding: 2px 0; }
.contents li.part { font-weight: 600; margin-top: var(--gap-s); }
.contents a { text-decoration: none; }
.contents a:hover { text-decoration: underline; }
.contents input { width: 100%; }
.contents > details { margin: 0; }
.contents > summary, .part > summary { font-weight: 600; }
nav.contents > ol { display: flex; flex-wrap: wrap; gap: 0 var(--gap-l); }
body.listed nav.contents { position: sticky; top: 0; z-index: 2; background: var(--page); border-bottom: 1px solid var(--line);
  padding: var(--gap-s) 0; margin: 0 0 var(--gap); }
nav.contents details ol { max-height: 60vh; overflow-y: auto; }
.found { color: var(--soft); min-height: 1.4em; margin: 0; }
section, details.part { scroll-margin-top: 7rem; }
@media screen and (min-width: 1200px) {
  body.listed main { display: grid; grid-template-columns: 15rem minmax(0, 1fr); column-gap: var(--gap-l); max-width: 1760px; align-items: start; }
  body.listed main > * { grid-column: 2; }
  body.listed main > nav.contents { grid-column: 1; grid-row: 1 / span 9999; align-self: start; height: 100vh; overflow-y: auto;
    border-bottom: 0; border-right: 1px solid var(--line); padding: var(--gap) var(--gap) 0 0; margin: 0; }
  body.listed nav.contents details ol { max-height: none; }
  section, details.part { scroll-margin-top: var(--gap); }
}
details.part { border-top: 2px solid var(--line); padding: var(--gap-s) 0; }
details.part > summary { font-size: var(--text-more); color: var(--ink); }
details.part > summary + section > h2 { margin-top: var(--gap); }
.scroll { margin: 0.75rem 0 1.5rem; }
th[aria-sort] { cursor: pointer; }
th[aria-sort=ascending]::after { content: ' ↑'; }
th[aria-sort=descending]::after { content: ' ↓'; }
td[data-repeats]:empty::after { content: attr(data-repeats); }
td.label, .whole { white-space: nowrap; }
th.text { min-width: 11rem; }
th.right, td.right { text-align: right; padding-right: 12px; }
td.right { white-space: nowrap; }
td.good { background: var(--good); }
td.fair { background: var(--fair); }
td.bad { background: var(--bad); }
td.good, td.fair, td.bad { padding-left: 6px; box-shadow: inset -8px 0 var(--page); }
tr.group td { border-top: 2px solid var(--rule); }
details { margin: var(--gap-s) 0 var(--gap); }
summary { color: var(--accent); font-weight: 600; }
[hidden] { display: none !important; }
@media screen and (min-width: 1500px) {
  main { max-width: 1360px; }
}
@media (max-width: 900px) {
  th, td, th.right, td.right { padding-right: 8px; }
}
@media (max-width: 720px) {
  main { padding: 20px 14px 40px; }
  h1 { font-size: 1.5rem; }
  .headline { font-size: 1.125rem; }
  td.label { white-space: normal; }
  .choice { margin-right: 0; }
}
@media print {
  nav, .saves, .choice { display: none !important; }
  body { background: #fff; font-size: 11pt; }
  main { max-width: none; padding: 0; }
  .scroll { overflow: visible; }
  table { font-size: 8.5pt; }
  thead { display: table-header-group; }
  tr { break-inside: avoid; }
  h2, h3, figcaption, caption { break-after: avoid; }
}
`;
