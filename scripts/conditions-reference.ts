import { CONDITIONS, REASONS, type ReasonText } from '../src/api/conditions.ts';

/** Text of docs/conditions.md. */
export function conditionsReference(): string {
  const sections = Object.entries(CONDITIONS).flatMap(([type, { good, kinds, about }]) => {
    const reasons: Readonly<Record<string, ReasonText>> = REASONS[type as keyof typeof REASONS];
    const rows = Object.entries(reasons).map(
      ([reason, { meaning, remedy }]) => `| \`${reason}\` | ${meaning} | ${remedy ?? ''} |`,
    );
    const head = [`## ${type}`, '', `${about} On ${kinds}; well when \`${good}\`.`, ''];
    return [...head, '| reason | meaning | what to do |', '|---|---|---|', ...rows, ''];
  });
  return [
    '# Conditions and their reasons',
    '',
    '<!-- Generated from src/api/conditions.ts by `npm run generate`. -->',
    '',
    'Shown by `kubectl describe` and by `signpost status`. The list is closed: nothing else is ever written.',
    '',
    ...sections,
  ].join('\n');
}
