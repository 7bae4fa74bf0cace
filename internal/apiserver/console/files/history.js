// Shows the recorded changes of an object, the newest first.

import { code, element, longTable, section, time } from './dom.js';

// How many characters of a value the page shows, and how many changes.
const longest = 200;
const most = 200;

/** historyOf returns the section with the history of an object. An error, or a server without history, is a sentence in it. */
export function historyOf(answer) {
  if (typeof answer === 'string') {
    return section('history', 'History', element('p', {}, answer));
  }
  const parts = [];
  if (!answer.recording) {
    parts.push(element('p', {}, 'The server does not record the changes of this object. The label ', code('holdfast.dev/history: fields'),
      ', on the object or on its namespace, makes it do so.'));
  }
  const rows = [...answer.items].reverse().flatMap(rowsOf);
  if (rows.length > 0) {
    parts.push(longTable({
      caption: 'Changes of fields, the newest first', columns: ['Field', 'From', 'To', 'By', 'At'], rows: rows.slice(0, most),
    }));
  } else if (answer.recording) {
    parts.push(element('p', {}, 'Nothing has changed since the server began to record.'));
  }
  if (rows.length > most) {
    parts.push(element('p', {}, `Only the newest ${most} changes are shown.`));
  }
  return section('history', 'History', ...parts);
}

/** rowsOf returns a row for each change of an entry, and one row for an entry without changes. */
function rowsOf(entry) {
  const by = [entry.user ?? 'unknown', entry.command || entry.manager ? element('div', { class: 'quiet-text' }, entry.command || entry.manager) : ''];
  const changes = entry.operation === 'convert' ? [] : entry.changes ?? [];
  const rows = changes.map((change) => [code(change.path), valueOf(change.from, change.fromHash, 'from' in change),
    valueOf(change.to, change.toHash, 'to' in change), by.map(copy), time(entry.time)]);
  if (rows.length > 0) {
    return rows;
  }
  const what = entry.truncated ? 'changed too much to be recorded, or while the server did not record' : operations[entry.operation] ?? entry.operation;
  return [[what, '', '', by, time(entry.time)]];
}

const operations = {
  create: 'created', update: 'written without a change', delete: 'deleted', replace: 'replaced by a new object', convert: 'stored in another version of its API from here on',
};

/** copy returns an element again, because an element can be at one place only. */
function copy(part) {
  return typeof part === 'string' ? part : part.cloneNode(true);
}

/** valueOf returns a value as a short text. The server keeps only a hash of a value that is secret or large. */
function valueOf(value, hash, has) {
  if (hash) {
    return hash.hmac ? 'a secret value' : `a value of ${hash.size} bytes`;
  }
  if (!has) {
    return 'absent';
  }
  // As in the other tables, characters that cannot be seen are shown as their numbers. Some of them turn the text around them.
  const text = JSON.stringify(value).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, '0')}`);
  return code(text.length > longest ? `${text.slice(0, longest)}…` : text);
}
