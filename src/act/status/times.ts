import type { Condition } from '../../api/conditions.ts';
import type { WantedStatus } from './wanted.ts';

/** A condition as the API server has it. */
export interface StoredCondition extends Condition {
  readonly observedGeneration?: number;
  readonly lastTransitionTime: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Lists and parts whose items carry a `since`, with the fields that make an item the same one as before. */
const SINCE: Readonly<Record<string, readonly string[]>> = {
  announcements: ['address', 'mode', 'node', 'interface', 'peers'],
  sessions: ['peer', 'state'],
  lease: ['held'],
};

/**
 * The wanted status with its times: what is as it was stored keeps the time that is stored there. Pure, so that the
 * same wish over the same store gives the same bytes and need not be written.
 */
export function withTimes({ status, generation }: WantedStatus, stored: unknown, now: string): Fields {
  const before = isFields(stored) ? stored : {};
  const dated: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(status) as [string, unknown][]) {
    if (value === undefined) continue;
    const keys = SINCE[field];
    if (field === 'conditions') dated[field] = dateConditions(value as Condition[], before[field], generation, now);
    else if (keys === undefined) dated[field] = value;
    else if (Array.isArray(value)) dated[field] = value.map((item: Fields) => since(item, before[field], keys, now));
    else dated[field] = since(value as Fields, [before[field]], keys, now);
  }
  return dated;
}

/** Of the CRD. */
const MAX_MESSAGE = 4096;

export function storedConditions(status: unknown): readonly StoredCondition[] {
  return isFields(status) && Array.isArray(status['conditions']) ? (status['conditions'] as StoredCondition[]) : [];
}

function dateConditions(wanted: readonly Condition[], stored: unknown, generation: number, now: string) {
  const before = storedConditions({ conditions: stored });
  return wanted.map(({ type, status, reason, message }): StoredCondition => {
    const same = before.find((condition) => condition.type === type && condition.status === status);
    const lastTransitionTime = same?.lastTransitionTime ?? now;
    return {
      type,
      status,
      reason,
      message: message.slice(0, MAX_MESSAGE),
      observedGeneration: generation,
      lastTransitionTime,
    };
  });
}

function since(item: Fields, stored: unknown, keys: readonly string[], now: string): Fields {
  const identity = (candidate: Fields) => JSON.stringify(keys.map((key) => candidate[key] ?? null));
  const candidates = Array.isArray(stored) ? stored.filter(isFields) : [];
  const same = candidates.find((candidate) => identity(candidate) === identity(item));
  return { ...item, since: same?.['since'] ?? now };
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
