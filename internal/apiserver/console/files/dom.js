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
  const head = element('tr', {}, ...columns.map((column) => element('th', { scope: 'col' }, column)));
  const body = element('tbody', {}, ...rows.map(row));
  return element('div', { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': caption },
    element('table', {}, element('caption', {}, caption), element('thead', {}, head), body));
}

/** row returns a row of a table. A cell is a text, an element, or a list of both. */
export function row(cells) {
  return element('tr', {}, ...cells.map((cell, i) => {
    const parts = Array.isArray(cell) ? cell : [cell];
    return i === 0 ? element('th', { scope: 'row' }, ...parts) : element('td', {}, ...parts);
  }));
}

/** count returns a number with its noun. */
export function count(number, singular, plural = `${singular}s`) {
  return `${number} ${number === 1 ? singular : plural}`;
}
