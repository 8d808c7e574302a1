import { expect, test } from 'vitest';
import { CONDITIONS, type Condition, type ConditionType, condition } from '../../api/conditions.ts';
import { transitions } from './transitions.ts';

const accepted = condition('Accepted', 'True', 'Accepted', 'valid');
const programmed = condition('Programmed', 'True', 'Programmed', 'announced: 192.0.2.1 by n1');
const pending = condition('Programmed', 'False', 'Pending', 'on its way');
const dark = condition('Programmed', 'False', 'NotAnnounced', 'nobody announces it');
const conflicted = condition('Conflicted', 'True', 'ForeignAnswer', '02:00:00:00:00:01 answers');

const told = (before: readonly Condition[], after: readonly Condition[]) =>
  transitions(before, after).map(({ type, reason }) => `${type} ${reason}`);

test('tells once that a new route works, and not that it is valid', () => {
  expect(told([], [accepted, programmed])).toEqual(['Normal Programmed']);
  expect(told([accepted, programmed], [accepted, programmed])).toEqual([]);
});

test('does not tell that a VIP moved: the route is as programmed as before', () => {
  expect(told([programmed], [{ ...programmed, message: 'announced: 192.0.2.1 by n2' }])).toEqual([]);
});

test('warns of what goes wrong, and when the reason becomes another', () => {
  expect(told([programmed], [pending])).toEqual(['Warning Pending']);
  expect(told([pending], [dark])).toEqual(['Warning NotAnnounced']);
  expect(told([dark], [programmed])).toEqual(['Normal Programmed']);
});

test('the truth of a conflict is the bad news', () => {
  expect(told([], [conflicted])).toEqual(['Warning ForeignAnswer']);
  expect(told([conflicted], [{ ...conflicted, status: 'False' }])).toEqual(['Normal ForeignAnswer']);
});

test.each(Object.keys(CONDITIONS) as ConditionType[])('%s warns where it is not as it should be', (type) => {
  const { good } = CONDITIONS[type];
  const bad = { type, reason: 'Pending', message: '', status: good === 'True' ? 'False' : 'True' } as const;
  expect(transitions([], [bad])).toMatchObject([{ type: 'Warning' }]);
  expect(transitions([bad], [{ ...bad, status: good }])).toMatchObject([{ type: 'Normal' }]);
});

test('the note says which condition', () => {
  expect(transitions([], [dark])[0]?.note).toBe('Programmed is False: nobody announces it');
});
