// Shows the report about an object.

import { versions } from './definition.js';
import { code, count, element, row, section, table, time } from './dom.js';
import { fieldsOf, writeOf } from './refused.js';

/** objectParts returns the elements of a report, without its plans, and with a section about the history. */
export function objectParts(report, history) {
  return [summary(report.object), notes(report.notes), ...versions(report.versions ?? []), kept(report.kept), locks(report.locks, report.neverReplaced), drift(report),
    refused(report.refused), history, fields(report.fields)]
    .filter((part) => part !== null);
}

function summary(object) {
  const facts = [
    ['Kind', `${object.kind} (${object.apiVersion})`],
    ['Namespace', object.namespace],
    ['Created', time(object.created)],
    ['Deleted', object.deleted ? [time(object.deleted), ', finalizers keep it'] : ''],
    ['UID', code(object.uid)],
    ['Resource version', code(object.resourceVersion)],
  ].filter(([, value]) => value);
  return element('dl', {}, ...facts.map(([name, value]) =>
    element('div', {}, element('dt', {}, name), element('dd', {}, ...[value].flat()))));
}

function notes(lines) {
  if (lines.length === 0) {
    return null;
  }
  return element('div', { class: 'note' }, element('p', {}, 'Not all is known:'),
    element('ul', {}, ...lines.map((line) => element('li', {}, line))));
}

const lockColumns = ['Field', 'Rule', 'Why', 'Exception'];

function lockRow(lock) {
  return [code(lock.field), lock.rule + conditionOf(lock), lock.why, [lock.exception, rightOf(lock)].filter(Boolean).join(', or ') || 'none'];
}

/** conditionOf says until when a rule holds. */
function conditionOf(rule) {
  return (rule.while ? ` while ${rule.while}` : '') + stateOf(rule);
}

/** stateOf says whether the condition of a rule is true now. */
function stateOf(rule) {
  const sentences = [];
  if (rule.unclear) {
    sentences.push(`The condition cannot be evaluated, so the rule holds: ${rule.unclear}`);
  } else if (rule.while) {
    sentences.push(rule.open ? 'The condition is false now, so the rule does not hold' : 'The condition is true now');
  }
  if (rule.warns) {
    sentences.push('The server only warns');
  }
  return sentences.map((sentence) => `. ${sentence}`).join('');
}

/** rightOf says which right lifts a rule, and whether the user has it. */
function rightOf(rule) {
  if (!rule.unless) {
    return '';
  }
  return `the right to ${rule.unless}, which you ${rule.may ? 'have' : 'do not have'}`;
}

function kept(all) {
  if (all.length === 0) {
    return null;
  }
  return section('kept', 'Deletion', table({
    caption: 'What keeps the object from being deleted', columns: ['Why', 'Exception'],
    rows: all.map((reason) => [reason.why + stateOf(reason), rightOf(reason) || 'none']),
  }));
}

function locks(all, neverReplaced) {
  const present = all.filter((lock) => !lock.absent);
  const absent = all.filter((lock) => lock.absent);
  const parts = [];
  if (present.length === 0) {
    parts.push(element('p', {}, 'No field with a value is locked.'));
  } else {
    parts.push(table({ caption: 'Fields that cannot change, or only in part', columns: lockColumns, rows: present.map(lockRow) }));
  }
  if (absent.length > 0) {
    parts.push(element('details', {},
      element('summary', {}, `${count(absent.length, 'field')} without a value cannot be set`),
      table({ caption: 'Fields that cannot be set', columns: lockColumns, rows: absent.map(lockRow) })));
  }
  if (all.length > 0) {
    parts.push(neverReplaced
      ? element('p', {}, `Objects of this kind are never replaced by new ones: ${neverReplaced}.`)
      : element('p', {}, 'Another value takes a new object. ', code('holdfast apply --replace -f FILE'),
        ' prints what is lost with this one, and writes nothing without --yes.'));
  }
  return section('locks', 'Locked fields', ...parts);
}

function drift(report) {
  const title = 'What the next kubectl apply changes back';
  if (!report.applied) {
    return section('drift', title, element('p', {}, 'Nothing: the object has no last-applied configuration of kubectl apply.'));
  }
  if (report.drift.length === 0) {
    return section('drift', title, element('p', {}, 'Nothing: every applied field has the value that was applied.'));
  }
  return section('drift', title, table({
    caption: 'Fields that differ from the last-applied configuration',
    columns: ['Field', 'Value now', 'Value applied last', 'Changed by', 'At'],
    rows: report.drift.map((f) => [code(f.field), code(f.value), code(f.appliedValue), f.setBy ?? 'unknown', time(f.at)]),
  }));
}

/** refused returns the section with the refused writes, null if there are none. */
function refused(all) {
  if (all.length === 0) {
    return null;
  }
  return section('refused', 'Refused writes of the last hour', table({
    caption: 'Writes to this object that the server refused', columns: ['Write', 'At', 'User', 'Fields', 'Why'],
    rows: all.map((write) => [writeOf(write), time(write.last), write.user, fieldsOf(write), write.reason]),
  }));
}

/** rulesOf returns the rules of a field in words. */
function rulesOf(field) {
  return (field.rules ?? []).map((text) => element('div', { class: 'rule' }, text));
}

function fields(all) {
  const caption = 'Fields with their owners';
  if (all.length === 0) {
    return section('owners', 'Owners', element('p', {}, 'No field can have an owner.'));
  }
  const columns = ['Field', 'Value', 'Rule', 'Owner', 'Set by', 'At'];
  const shown = table({ caption, columns, rows: [] });
  const body = shown.querySelector('tbody');
  const matches = element('p', { role: 'status' });
  const fill = (text) => {
    const found = all.filter((f) => `${f.field} ${f.owner ?? 'free'} ${f.setBy ?? ''} ${(f.rules ?? []).join(' ')}`.toLowerCase().includes(text.toLowerCase()));
    body.replaceChildren(...found.map((f) =>
      row([code(f.field), code(f.value), rulesOf(f), f.owner ?? 'free', f.setBy ?? 'unknown', time(f.at)], columns)));
    matches.textContent = text === '' ? '' : count(found.length, 'field');
  };
  const filter = element('input', { id: 'field-filter', type: 'search', spellcheck: 'false', autocomplete: 'off' });
  filter.addEventListener('input', () => fill(filter.value));
  fill('');
  return section('owners', 'Owners',
    element('p', {}, 'The owner of a field sets it again with its next apply. Other clients may change a free field. A rule says which changes the server refuses. The status, and the metadata that the server sets, have no owner.'),
    element('div', { class: 'filter' }, element('label', { for: 'field-filter' }, 'Show fields that contain'), filter, matches), shown);
}
