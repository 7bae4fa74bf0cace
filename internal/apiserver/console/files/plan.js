// Shows the plans of an Instance, and follows a plan that runs.

import { element, section, time } from './dom.js';

const marks = { COMPLETE: '✓', IN_PROGRESS: '▶', PENDING: '○', NEVER_RUN: '○', ERROR: '!', FATAL_ERROR: '✗' };

/** plansOf returns the section with the plans. */
export function plansOf(report) {
  const plans = report.plans ?? [];
  if (plans.length === 0) {
    return section('plans', 'Plans', element('p', {}, report.running ? `Plan ${report.running} is about to start.` : 'No plan has run.'));
  }
  return section('plans', 'Plans', ...plans.map((plan) => element('article', { 'aria-label': `Plan ${plan.name ?? ''}` },
    element('h4', {}, `Plan ${plan.name ?? ''}: `, state(plan.status)),
    message(plan.message),
    element('p', {}, 'Last change: ', time(plan.lastUpdatedTimestamp)),
    element('ol', {}, ...(plan.phases ?? []).map((phase) => element('li', {},
      'Phase ', element('strong', {}, phase.name ?? ''), ': ', state(phase.status),
      element('ol', {}, ...(phase.steps ?? []).map((step) => element('li', {},
        'Step ', element('strong', {}, step.name ?? ''), ': ', state(step.status), message(step.message))))))))));
}

/** progressOf returns what a screen reader announces about the last plan. */
export function progressOf(report) {
  const last = (report.plans ?? [])[0];
  return last ? `Plan ${last.name}: ${words(last.status)}` : '';
}

function state(name) {
  return element('span', { class: 'state', 'data-state': name ?? '' },
    element('span', { 'aria-hidden': 'true' }, marks[name] ?? '·'), ` ${words(name)}`);
}

function words(name) {
  return (name ?? 'unknown').toLowerCase().replaceAll('_', ' ');
}

function message(text) {
  return text ? element('p', { class: 'message' }, text) : null;
}
