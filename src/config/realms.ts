/**
 * Finds the problems of the realms of users in a file, whether security is on or not.
 * Tested by broken-files.spec.ts.
 */
import { FindingList, quoted } from './finding-list.ts';
import { SECURITY_PATHS } from './security-paths.ts';
import { pathText, type Statement } from './statements.ts';

const REALM_NAME = 'security.realms.[].name';
const USER_NAME = 'security.realms.[].authentication.simple.users.[].username';
const REALM_REFERENCES: readonly string[] = [
  SECURITY_PATHS.memberRealm,
  SECURITY_PATHS.clientRealm,
];

/** Maximum number of realms listed in a message. */
const REALMS_LISTED_MAX = 12;

export function realmProblems(statements: readonly Statement[]): FindingList {
  const problems = new FindingList();
  const realms = new Set<string>();
  const users = new Set<string>();
  for (const { pattern, path, text, at } of statements) {
    if (pattern === REALM_NAME) {
      if (realms.has(text)) {
        problems.add(at, () => `Cannot use realm ${quoted(text)}: it occurs twice`);
      }
      realms.add(text);
    } else if (pattern === USER_NAME) {
      const user = `${path.slice(0, 3).join('.')} ${text}`;
      if (users.has(user)) {
        problems.add(at, () => `Cannot use user ${quoted(text)}: it occurs twice in its realm`);
      }
      users.add(user);
    }
  }
  for (const { pattern, path, text, at } of statements) {
    if (!REALM_REFERENCES.includes(pattern) || realms.has(text)) continue;
    problems.add(at, () => {
      const some = [...realms].slice(0, REALMS_LISTED_MAX).join(', ');
      const known = realms.size === 0 ? 'there is none' : `known: ${some}`;
      return `Cannot use ${pathText(path)} ${quoted(text)}: no such realm (${known})`;
    });
  }
  return problems;
}
