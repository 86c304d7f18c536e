/** What is wrong with the realms of users that a file describes, whether security is on or not. */
import type { Problem } from './document.ts';
import { pathOf, type Statement } from './statements.ts';

const REALM_NAME = 'security.realms.[].name';
const USER_NAME = 'security.realms.[].authentication.simple.users.[].username';
const REALM_REFERENCES = [
  'security.member-authentication.realm',
  'security.client-authentication.realm',
];

export function realmProblems(statements: readonly Statement[]): Problem[] {
  const problems: Problem[] = [];
  const realms = new Set<string>();
  const users = new Set<string>();
  for (const { pattern, path, text, at } of statements) {
    if (pattern === REALM_NAME) {
      if (realms.has(text)) {
        problems.push({ at, message: `Cannot use realm ${JSON.stringify(text)}: there twice` });
      }
      realms.add(text);
    } else if (pattern === USER_NAME) {
      const user = `${path.slice(0, 3).join('.')} ${text}`;
      if (users.has(user)) {
        problems.push({
          at,
          message: `Cannot use user ${JSON.stringify(text)}: twice in its realm`,
        });
      }
      users.add(user);
    }
  }
  for (const { pattern, path, text, at } of statements) {
    if (!REALM_REFERENCES.includes(pattern) || realms.has(text)) continue;
    const known = realms.size === 0 ? 'there is none' : `known: ${[...realms].join(', ')}`;
    const message = `Cannot use ${pathOf(path)} ${JSON.stringify(text)}: no such realm (${known})`;
    problems.push({ at, message });
  }
  return problems;
}
