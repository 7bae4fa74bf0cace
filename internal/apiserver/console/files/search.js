// Searches the names of kinds and objects. The page asks for the list of each kind, with the rights of the user.

import { Refused, checkNamespace, readObjects } from './api.js';
import { count, element, link, longTable, section } from './dom.js';
import { hrefOf, keyOf } from './route.js';

// How many objects of a kind the page searches, and how many it shows of all kinds.
const searched = 2000;
const longest = 500;
// How many kinds it asks about at the same time.
const together = 4;
// Events have the names of other objects.
const skipped = new Set(['events']);

/** showSearch fills a view with what a text is found in, and goes on to fill it while isShown returns true. */
export async function showSearch(view, route, kinds, isShown, say) {
  const place = route.namespace === '' ? '' : ` in namespace ${route.namespace}`;
  const title = `Search for “${route.text}”${place}`;
  const note = route.namespace === '' ? '' : await checkNamespace(kinds, route.namespace);
  const text = route.text.toLowerCase();
  const byKind = kinds.filter((kind) => [kind.kind, kind.resource, keyOf(kind)].some((name) => name.toLowerCase().includes(text)));
  const progress = element('p', { class: 'quiet-text', id: 'progress' }, 'Searching…');
  const objects = element('div', {});
  view.replaceChildren(element('h2', { tabindex: '-1' }, title), ...(note ? [element('p', { class: 'note' }, note)] : []), progress,
    section('kinds', 'Kinds', byKind.length === 0 ? element('p', {}, 'No kind has this text in its name.') : longTable({
      caption: 'Kinds whose names contain the text', columns: ['Kind', 'API'],
      rows: byKind.map((kind) => [link(hrefOf({ kind, namespace: route.namespace, name: '' }), kind.kind), keyOf(kind)]),
    })),
    section('objects', 'Objects', objects));
  setTimeout(() => searchAll(route, kinds.filter((kind) => !skipped.has(kind.resource) && (route.namespace === '' || kind.namespaced)),
    { progress, objects, isShown, say, title }));
  return title;
}

async function searchAll(route, kinds, { progress, objects, isShown, say, title }) {
  const found = [];
  const refused = [];
  const failed = [];
  const cut = [];
  const open = [...kinds];
  let done = 0;
  const next = async () => {
    while (open.length > 0 && isShown()) {
      const kind = open.shift();
      try {
        let looked = 0;
        let more = '';
        do {
          const answer = await readObjects(kind, route.namespace, { text: route.text, more });
          looked += answer.looked;
          more = answer.more;
          found.push(...answer.items.map((item) => ({ ...item, kind })));
        } while (more !== '' && looked < searched);
        if (more !== '') {
          cut.push(kind.kind);
        }
      } catch (error) {
        if (error instanceof Refused && error.status === 403) {
          refused.push(kind.kind);
        } else if (!(error instanceof Refused && error.status === 406)) {
          failed.push(`${kind.kind}: ${error.message}`);
        }
      }
      done++;
      progress.textContent = `Searched ${done} of ${count(kinds.length, 'kind')}.`;
    }
  };
  await Promise.all(Array.from({ length: together }, next));
  if (!isShown()) {
    return;
  }
  found.sort((a, b) => a.name.length - b.name.length || a.name.localeCompare(b.name) || a.kind.kind.localeCompare(b.kind.kind));
  const where = route.namespace === '' ? 'in all namespaces' : `in namespace ${route.namespace}`;
  const notes = [
    refused.length > 0 ? `You may not list ${refused.join(', ')} ${where}, so their names are not searched.` : '',
    cut.length > 0 ? `There are many objects of the ${cut.length === 1 ? 'kind' : 'kinds'} ${cut.join(', ')}: only the first ${searched} are searched.` : '',
    found.length > longest ? `Only the first ${longest} of ${found.length} names are shown.` : '',
    ...failed,
  ].filter(Boolean);
  objects.replaceChildren(found.length === 0 ? element('p', {}, 'No object has this text in its name.') : longTable({
    caption: 'Objects whose names contain the text, the shortest names first', columns: ['Name', 'Kind', 'Namespace'],
    rows: found.slice(0, longest).map((item) =>
      [link(hrefOf({ kind: item.kind, namespace: item.namespace ?? '', name: item.name }), item.name),
      element('span', { class: 'kind' }, item.kind.kind), item.namespace ?? '']),
  }, 50), ...notes.map((text) => element('p', { class: 'note' }, text)));
  progress.textContent = `Searched ${count(kinds.length - refused.length, 'kind')}.`;
  say(`${title}: ${count(found.length, 'object')}`);
}
