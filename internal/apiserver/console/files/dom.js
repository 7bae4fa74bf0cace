// Builds the elements of the page. All text of objects is hostile: it becomes text nodes and
// nothing else. No function here makes HTML from a string.

/** element returns an element with attributes and children. Strings become text nodes. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ''));
  return made;
}

/** code returns a text in the font of code. */
export function code(text) {
  return element('code', {}, text);
}

/** time returns a point in time, in UTC. */
export function time(at) {
  if (!at) {
    return 'unknown';
  }
  return element('time', { datetime: at }, at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC'));
}

/** section returns a section with a heading, named by the heading. */
export function section(id, title, ...children) {
  const heading = element('h3', { id: `${id}-title` }, title);
  return element('section', { id, 'aria-labelledby': heading.id }, heading, ...children);
}

/**
 * table returns a table with a caption. The first cell of each row is its header. A table can be
 * wider than the window, so the region around it scrolls, also with the keyboard.
 */
export function table({ caption, columns, rows }) {
  const head = element('tr', { role: 'row' }, ...columns.map((column) => element('th', { scope: 'col', role: 'columnheader' }, column)));
  const body = element('tbody', { role: 'rowgroup' }, ...rows.map((cells) => row(cells, columns)));
  return element('div', { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': caption },
    element('table', { role: 'table' }, element('caption', {}, caption), element('thead', { role: 'rowgroup' }, head), body));
}

/**
 * row returns a row of a table. A cell is a text, an element, or a list of both. In a narrow window the cells are one below the other, each
 * with the name of its column, and the roles say to a screen reader that this is a table nevertheless.
 */
export function row(cells, columns) {
  return element('tr', { role: 'row' }, ...cells.map((cell, i) => {
    const parts = (Array.isArray(cell) ? cell : [cell]).filter((part) => part !== '');
    return i === 0 ? element('th', { scope: 'row', role: 'rowheader' }, ...parts)
      : element('td', { role: 'cell', 'data-label': columns[i] ?? '' }, ...parts);
  }));
}

/** longTable returns a table that shows the first rows, and the others after a press of a button. */
export function longTable({ caption, columns, rows }, first = 20) {
  const shown = table({ caption, columns, rows: rows.slice(0, first) });
  if (rows.length <= first) {
    return shown;
  }
  const button = element('button', { type: 'button', class: 'quiet' }, `Show all ${rows.length}`);
  button.addEventListener('click', () => {
    const further = rows.slice(first).map((cells) => row(cells, columns));
    shown.querySelector('tbody').append(...further);
    button.remove();
    shown.focus();
  });
  return element('div', {}, shown, button);
}

/** link returns a link to a place of the page. */
export function link(href, ...children) {
  return element('a', { href }, ...children);
}

/** count returns a number with its noun. */
export function count(number, singular, plural = `${singular}s`) {
  return `${number} ${number === 1 ? singular : plural}`;
}
