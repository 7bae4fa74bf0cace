// Words for a refused write.

import { code } from './dom.js';

/** writeOf returns what a client tried, and how often. */
export function writeOf(write) {
  const verb = write.verb === 'deletecollection' ? 'delete all' : write.verb;
  return [verb, write.subresource ? ` ${write.subresource}` : '', write.count > 1 ? ` (${write.count} times)` : ''].join('');
}

/** fieldsOf returns the fields of a write. */
export function fieldsOf(write) {
  return (write.fields ?? []).flatMap((field, i) => (i === 0 ? [code(field)] : [', ', code(field)]));
}
