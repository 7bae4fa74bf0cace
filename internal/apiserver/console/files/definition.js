// Shows the skeletons of a CustomResourceDefinition, and the escapes of its markers.

import { code, element, section, table } from './dom.js';

/** versions returns a section for each version of a definition. */
export function versions(all) {
  return all.map((version) => section(`version-${version.name}`, `Version ${version.name}`, ...partsOf(version)));
}

function rules(lines) {
  if (lines.length === 0) {
    return [];
  }
  return [element('h4', {}, 'Rules'), element('p', {}, 'The annotation of the definition has rules that no marker can state:'),
    element('ul', {}, ...lines.map((line) => element('li', {}, code(line))))];
}

function partsOf(version) {
  const parts = [element('p', {}, [
    version.served ? 'Served' : 'Not served', version.storage ? 'stored' : 'not stored',
  ].join(', ') + '.')];
  if (version.note) {
    return [...parts, element('p', {}, version.note)];
  }
  parts.push(
    element('h4', {}, 'Skeleton'),
    element('p', {}, version.pruned
      ? 'The server drops every field of an object that is not in this list, except where unknown fields are kept.'
      : 'Pruning is off: the server keeps all fields of an object, also those that are not in this list.'),
    table({
      caption: `Skeleton of version ${version.name}`, columns: ['Field', 'Type', 'Marker', 'Notes'],
      rows: version.skeleton.map((node) => [code(node.field), node.type ?? '', node.marker ? code(node.marker) : '', (node.traits ?? []).join(', ')]),
    }),
    ...rules(version.rules ?? []),
    element('h4', {}, 'Escapes'));
  if (version.escapes.length === 0) {
    parts.push(element('p', {}, 'None: no marked field can be changed in two allowed writes.'));
  } else {
    parts.push(table({
      caption: `Escapes of version ${version.name}: ways to change a marked field in two allowed writes`,
      columns: ['Field', 'How', 'How to close it'],
      rows: version.escapes.map((escape) => [code(escape.field), escape.problem, escape.remedy]),
    }));
  }
  return parts;
}
