// Shows the versions of a series: which objects use each of them, and which the server deletes when.

import { readReferences, readSeries } from './api.js';
import { code, count, element, table, time } from './dom.js';
import { hrefOf } from './route.js';

// How many versions the page shows. It asks the server about each of them.
const longest = 100;
// How many versions it asks about at the same time.
const together = 6;

/** showSeries fills a view with the versions of a series. It returns what a screen reader announces. */
export async function showSeries(view, route, kinds) {
  const found = await readSeries(route.kind, route.namespace, route.series);
  const title = `Series ${found.name} of ${route.kind.kind}s in namespace ${found.namespace}`;
  const heading = element('h2', { tabindex: '-1' }, title);
  const list = element('p', {}, element('a', { href: hrefOf({ ...route, name: '', series: '' }) }, `All objects of the kind ${route.kind.kind}`));
  if (found.members.length === 0) {
    view.replaceChildren(heading, list, element('p', {}, 'There are no versions.'));
    return `${title}: none`;
  }
  const shown = found.members.slice(0, longest);
  const older = found.members.length - shown.length;
  const used = [];
  for (let i = 0; i < shown.length; i += together) {
    used.push(...await Promise.all(shown.slice(i, i + together).map((member) =>
      readReferences(route.kind, route.namespace, member.name))));
  }
  const incomplete = used.find((answer) => answer.incomplete)?.incomplete;
  view.replaceChildren(heading, list,
    ...(incomplete ? [element('p', { class: 'note' }, `Other objects may use these versions, too: ${incomplete}`)] : []),
    table({
      caption: 'Versions, the newest first', columns: ['Version', 'Created', 'Used by', 'Files on nodes', 'What the server does'],
      rows: shown.map((member, i) => [
        element('a', { class: 'version', href: hrefOf({ ...route, name: member.name, series: '' }) }, member.name),
        [time(member.created), member.immutable ? '' : ', not immutable'],
        users(used[i], kinds), pins(used[i], member), fate(member),
      ]),
    }),
    ...(older > 0 ? [element('p', {}, `${count(older, 'older version')} not shown.`)] : []));
  return `${title}: ${count(found.members.length, 'version')}`;
}

/** users returns the objects that refer to a version, with the places. */
function users(answer, kinds) {
  const hidden = answer.hidden ? count(answer.hidden, 'object that you may not read', 'objects that you may not read') : '';
  const more = answer.more ? count(answer.more, 'more object') : '';
  if (answer.referrers.length === 0) {
    return hidden || 'no object';
  }
  return element('details', {}, element('summary', {}, count(answer.referrers.length, 'object')),
    element('ul', {}, ...answer.referrers.map((user) => element('li', {}, link(user, kinds),
      ...(user.paths ?? []).flatMap((path) => [' ', code(path)]))),
    ...[hidden, more].filter(Boolean).map((line) => element('li', {}, line))));
}

/** link returns the name of an object, with a link if the server serves its kind. */
function link(user, kinds) {
  const text = [user.kind, user.namespace ? `${user.namespace}/${user.name}` : user.name].join(' ');
  const kind = kinds.find((known) => known.kind === user.kind && [known.group, known.version].filter(Boolean).join('/') === user.apiVersion);
  return kind ? element('a', { href: hrefOf({ kind, namespace: user.namespace ?? '', name: user.name }) }, text) : text;
}

/** pins returns the pods that have files of a version. */
function pins(answer, member) {
  const all = answer.pins ?? [];
  if (all.length === 0) {
    return 'none';
  }
  return element('details', {}, element('summary', {}, count(all.length, 'pod')),
    element('ul', {}, ...all.map((pin) => element('li', {}, `Pod ${pin.pod}`, pin.node ? ` on node ${pin.node}` : '',
      pin.uid === member.uid ? '' : ', of an earlier object with this name'))));
}

/** fate says whether the server deletes a version, and when. */
function fate(member) {
  const since = member.unused ? ['unused since ', time(member.unused), ', '] : [];
  if (!member.goes) {
    return [...since, `stays: ${member.stays}`];
  }
  return [...since, member.marked ? 'marked, ' : '', 'deleted at ', time(member.goes), ' at the earliest'];
}
