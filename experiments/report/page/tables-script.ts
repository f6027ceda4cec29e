/** Seconds, bytes and plain numbers of one kind are compared by these factors. */
const UNITS: Readonly<Record<string, number>> = {
  ...{ ns: 1e-9, µs: 1e-6, us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 },
  ...{ B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, kB: 1e3, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 },
};

/**
 * The program of a page with tables: a click on a column's title, or Enter on it, sorts the rows by it, first ascending,
 * then descending, then as they were. Numbers are compared as numbers, with their units; rows without one come last. A
 * filter shows the rows with one value of a column, and the search of a page those that contain all of its words, in the
 * parts that have any.
 */
export const TABLES = `
'use strict';
(() => {
  const units = ${JSON.stringify(UNITS)};
  const valueOf = (text) => {
    const match = /^[×±≤≥~]?\\s*([+\\-−]?[\\d,]*\\.?\\d+(?:e[+-]?\\d+)?)\\s*([^\\s(]*)/.exec(text.trim());
    if (match === null) return undefined;
    return Number(match[1].replaceAll(',', '').replace('−', '-')) * (units[match[2]] ?? 1);
  };
  const compare = (one, other) => {
    const [a, b] = [valueOf(one), valueOf(other)];
    if (a !== undefined && b !== undefined) return a - b;
    if (a !== undefined) return -1;
    return b !== undefined ? 1 : one.localeCompare(other);
  };
  const nameGroups = (table) => {
    let group = '';
    for (const row of table.tBodies[0].rows) {
      if (row.cells[0].textContent !== '') group = row.cells[0].textContent;
      row.dataset.group = group;
    }
  };
  const repeatNames = (rows, repeats) => {
    for (const row of rows) if (row.dataset.group) row.cells[0].dataset.repeats = repeats ? row.dataset.group : '';
  };
  for (const table of document.querySelectorAll('table')) {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    if ('groups' in table.dataset) nameGroups(table);
    const filter = table.closest('.scroll').previousElementSibling?.querySelector('select[data-column]');
    filter?.addEventListener('change', () => {
      for (const row of rows) {
        const cell = row.cells[filter.dataset.column];
        row.hidden = filter.value !== '' && (cell.textContent || row.dataset.group) !== filter.value;
      }
    });
    if (rows.length < 3) continue;
    const textOf = (row, index) => (index === 0 && row.dataset.group) || (row.cells[index]?.textContent ?? '');
    const heads = Array.from(table.tHead.rows[0].cells);
    const sort = (head, index) => {
      const order = { none: 'ascending', ascending: 'descending', descending: 'none' }[head.ariaSort];
      for (const one of heads) one.ariaSort = 'none';
      head.ariaSort = order;
      const sign = order === 'descending' ? -1 : 1;
      const sorted = order === 'none' ? rows : rows.toSorted((a, b) => {
        const [one, other] = [textOf(a, index), textOf(b, index)];
        const isMissing = (text) => valueOf(text) === undefined;
        return isMissing(one) === isMissing(other) ? sign * compare(one, other) : compare(one, other);
      });
      // Rows of a group that no longer stand together repeat its name.
      repeatNames(rows, order !== 'none');
      body.append(...sorted);
    };
    heads.forEach((head, index) => {
      head.tabIndex = 0;
      head.ariaSort = 'none';
      head.title = 'Sort by this column';
      head.addEventListener('click', () => sort(head, index));
      head.addEventListener('keydown', (event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        sort(head, index);
      });
    });
  }

  const contents = document.querySelector('nav.contents details');
  if (contents && matchMedia('(max-width: 1199px)').matches) contents.open = false;
  const search = document.getElementById('search');
  search?.addEventListener('input', () => {
    const words = search.value.toLowerCase().split(/\\s+/).filter((word) => word !== '');
    let found = 0;
    for (const table of document.querySelectorAll('main table')) {
      const title = table.caption?.textContent ?? '';
      const part = table.closest('details.part')?.querySelector('summary').textContent ?? '';
      const section = table.closest('section')?.querySelector('h2')?.textContent ?? '';
      for (const row of table.tBodies[0].rows) {
        const text = [part, section, title, row.dataset.group ?? '', row.textContent].join(' ').toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        if (!row.hidden) found++;
      }
      repeatNames(table.tBodies[0].rows, words.length > 0);
      table.closest('.scroll').hidden = !Array.from(table.tBodies[0].rows).some((row) => !row.hidden);
    }
    for (const section of document.querySelectorAll('main section')) {
      const tables = Array.from(section.querySelectorAll('.scroll'));
      section.hidden = words.length > 0 && tables.every((table) => table.hidden);
    }
    for (const part of document.querySelectorAll('details.part')) {
      part.hidden = Array.from(part.querySelectorAll('section')).every((section) => section.hidden);
      part.open = words.length > 0;
    }
    document.getElementById('found').textContent = words.length === 0 ? '' : found + (found === 1 ? ' row' : ' rows');
  });
})();
`;
