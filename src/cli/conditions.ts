import { CONDITIONS, type ConditionType, REASONS, type ReasonText } from '../api/conditions.ts';

/** A condition as it is shown: of a type and for a reason that a newer daemon may have added. */
export interface ShownCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** A condition whose name is a trouble is bad when True, one whose name is a promise when False. */
export function isBad({ type, status }: ShownCondition): boolean {
  const good = isType(type) ? CONDITIONS[type].good : 'False';
  return status !== 'Unknown' && status !== good;
}

/** What its reader can do about it, where that is known. */
export function remedyOf({ type, reason }: ShownCondition): string | undefined {
  if (!isType(type)) return undefined;
  const texts: Readonly<Record<string, ReasonText>> = REASONS[type];
  return texts[reason]?.remedy;
}

function isType(type: string): type is ConditionType {
  return Object.hasOwn(CONDITIONS, type);
}
