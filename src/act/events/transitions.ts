import { CONDITIONS, type Condition, type Reason } from '../../api/conditions.ts';

export interface Transition {
  readonly type: 'Normal' | 'Warning';
  readonly reason: Reason;
  readonly note: string;
}

/**
 * What is worth an Event: a condition that changed its status or, while it is bad, its reason. That something is as it
 * should be from the start is told of Programmed alone.
 */
export function transitions(before: readonly Condition[], after: readonly Condition[]): Transition[] {
  return after.flatMap((now) => {
    const old = before.find(({ type }) => type === now.type);
    const good = isGood(now);
    if (old === undefined && good && now.type !== 'Programmed') return [];
    if (old?.status === now.status && (good || old.reason === now.reason)) return [];
    return [
      { type: good ? 'Normal' : 'Warning', reason: now.reason, note: `${now.type} is ${now.status}: ${now.message}` },
    ];
  });
}

function isGood({ type, status }: Condition): boolean {
  return status === 'Unknown' || status === CONDITIONS[type].good;
}
