/**
 * Settings whose loss would weaken what the operator asked for: where one is on and this member
 * cannot do it, `serve` refuses to start and says what to write instead.
 */
import type { Statement } from './statements.ts';
import { isBoolean } from './value-type.ts';

export interface Refusal {
  readonly statement: Statement;
  readonly reason: string;
}

/** The statement that counts, by path. */
export type Effective = ReadonlyMap<string, Statement>;

const REST_ENDPOINT = 'advanced-network.rest-server-socket-endpoint-config';

/** Why each of these cannot be on. */
const SWITCHES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['persistence', 'hot-restart-persistence'].map((section) => [
      `${section}.encryption-at-rest.enabled`,
      'data is not encrypted here; use an encrypted disk, and set this to false',
    ]),
  ),
  ...Object.fromEntries(
    ['network', REST_ENDPOINT].flatMap((section) => [
      [
        `${section}.symmetric-encryption.enabled`,
        'connections are not encrypted with a shared password here; use network.ssl, ' +
          'and set this to false',
      ],
      [
        `${section}.socket-interceptor.enabled`,
        'no class can be loaded here that checks connections; ask for client certificates with ' +
          'network.ssl, and set this to false',
      ],
    ]),
  ),
};

const NO_CLASSES = 'no class can be loaded here that decides about access; ';

/** What security rests on where it is on, and cannot here. */
const SECURITY_CLASSES: ReadonlyMap<string, string> = new Map(
  [
    'security.client-permission-policy.class-name',
    'security.security-interceptors.[]',
    'security.realms.[].access-control-service.factory-class-name',
  ].map((pattern) => [pattern, `${NO_CLASSES}write what it grants below client-permissions`]),
);

/** A replacer of this class does what is done here anyway. */
const PROPERTY_REPLACER = 'com.hazelcast.config.replacer.PropertyReplacer';
const REALM_KIND = /^security\.realms\.\[\]\.(authentication)\.([a-zA-Z-]+|\{name\})(\.|$)/;

export function refusalsOf(effective: Effective): Refusal[] {
  const refusals: Refusal[] = [];
  const isSecurityOn = isOn(effective.get('security.enabled'));
  const kinds = new Set<string>();
  for (const statement of effective.values()) {
    const { pattern, text } = statement;
    const reason = isElsewhere(effective, pattern) ? undefined : SWITCHES[pattern];
    if (reason !== undefined && isOn(statement)) refusals.push({ statement, reason });
    const kind = REALM_KIND.exec(pattern);
    if (isSecurityOn && kind !== null && kind[2] !== 'simple' && !kinds.has(kind[0])) {
      kinds.add(kind[0]);
      const seen = statement.path[statement.path.indexOf('authentication') + 1];
      refusals.push({
        statement,
        reason: `realms of kind ${seen} are not known here; write the users below authentication.simple`,
      });
    }
    const lost = SECURITY_CLASSES.get(pattern);
    if (isSecurityOn && lost !== undefined) refusals.push({ statement, reason: lost });
    const isReplacer = pattern === 'config-replacers.replacers.[].class-name';
    if (
      (isReplacer || pattern === 'config-replacers.replacer.class-name') &&
      text !== PROPERTY_REPLACER
    ) {
      refusals.push({
        statement,
        reason:
          'no class can be loaded here that replaces texts; use the placeholder of a variable',
      });
    }
  }
  return refusals;
}

/** Whether it is about the network that the other of `network` and `advanced-network` stands for. */
function isElsewhere(effective: Effective, pattern: string): boolean {
  const isAdvanced = isOn(effective.get('advanced-network.enabled'));
  return pattern.startsWith(`${REST_ENDPOINT}.`)
    ? !isAdvanced
    : isAdvanced && pattern.startsWith('network.');
}

export function isOn(statement: Statement | undefined): boolean {
  return statement !== undefined && isBoolean(statement.text) && /^(true|1)$/i.test(statement.text);
}
