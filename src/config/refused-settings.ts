/**
 * The effective statements, and those refused among them: settings whose loss would weaken the
 * protection that the operator wants. If one is on and this member cannot provide it, `serve`
 * refuses to start; the message names a replacement.
 * Tested by member/load.spec.ts.
 */
import { getOrCreate } from '../base/get-or-create.ts';
import { counted } from '../base/quantities.ts';
import { type Finding, finding } from './finding.ts';
import { FINDINGS_MAX, pathText } from './finding-list.ts';
import { readBoolean } from './setting.ts';
import { type Source, sourceAt } from './source.ts';
import type { Statement } from './statements.ts';

/** A setting with which `serve` refuses to start. */
export interface RefusedSetting extends Finding {
  readonly path: string;
  readonly source: Source;
  /** The reason, and a replacement. */
  readonly reason: string;
}

export function refusedAt(
  { path, at }: Pick<Statement, 'path' | 'at'>,
  reason: string,
): RefusedSetting {
  const name = pathText(path);
  const source = sourceAt(at);
  const listed = finding('refused', `Cannot serve with ${name}: ${reason}`, source.name);
  return { ...listed, path: name, source, reason };
}

/** The refused settings among the findings. */
export function refusedAmong(findings: readonly Finding[]): readonly RefusedSetting[] {
  return findings.filter((each): each is RefusedSetting => each.severity === 'refused');
}

/** Refused statements, each with the reason. */
export class RefusedList {
  readonly #reasons: (readonly [Statement, string])[] = [];

  add(statement: Statement, reason: string): void {
    this.#reasons.push([statement, reason]);
  }

  statements(): ReadonlySet<Statement> {
    return new Set(this.#reasons.map(([statement]) => statement));
  }

  /** Returns the first FINDINGS_MAX and, if there are more, one with the number of the others. */
  end(): RefusedSetting[] {
    const listed = this.#reasons.slice(0, FINDINGS_MAX).map((each) => refusedAt(...each));
    const [next] = this.#reasons.slice(FINDINGS_MAX);
    if (next === undefined) return listed;
    const count = this.#reasons.length - FINDINGS_MAX;
    return [
      ...listed,
      refusedAt(
        next[0],
        `one of ${counted(count, 'more setting that is', 'more settings that are')} refused`,
      ),
    ];
  }
}

const REST_ENDPOINT = 'advanced-network.rest-server-socket-endpoint-config';

/** Settings that cannot be on, each with the reason. */
const SWITCHES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['persistence', 'hot-restart-persistence'].map((section) => [
      `${section}.encryption-at-rest.enabled`,
      'this member does not encrypt data; use an encrypted disk, and set this to false',
    ]),
  ),
  ...Object.fromEntries(
    ['network', REST_ENDPOINT].flatMap((section) => [
      [
        `${section}.symmetric-encryption.enabled`,
        'encryption with a shared password is not supported; use network.ssl, ' +
          'and set this to false',
      ],
      [
        `${section}.socket-interceptor.enabled`,
        'classes that check connections are not supported; require client certificates with ' +
          'network.ssl, and set this to false',
      ],
    ]),
  ),
};

const NO_CLASSES = 'classes that control access are not supported; ';

/** Classes that the original's security depends on and this member cannot load. */
const SECURITY_CLASSES: ReadonlyMap<string, string> = new Map(
  [
    'security.client-permission-policy.class-name',
    'security.security-interceptors.[]',
    'security.realms.[].access-control-service.factory-class-name',
  ].map((pattern) => [pattern, `${NO_CLASSES}write its grants below client-permissions`]),
);

/** A login always includes the name, address and roles of the user; no part can be skipped. */
const SKIPPED_IDENTITY = /^security\.realms\.\[\]\.authentication\.simple\.(\{name\}|skip-\w+)$/;
const SKIPS: ReadonlySet<string | undefined> = new Set([
  'skip-identity',
  'skip-endpoint',
  'skip-role',
]);

/** Class of the replacer whose effect this member has without it. */
const PROPERTY_REPLACER = 'com.hazelcast.config.replacer.PropertyReplacer';
const REPLACERS: ReadonlySet<string> = new Set([
  'config-replacers.replacers.[].class-name',
  'config-replacers.replacer.class-name',
]);
const COMPARATOR = 'queue.{name}.priority-comparator-class-name';
const REALM_KIND = /^security\.realms\.\[\]\.(authentication)\.([a-zA-Z-]+|\{name\})(\.|$)/;

/** Patterns of the settings that may be refused, besides those of security and certificates. */
export const REFUSED_PATTERNS: readonly string[] = [
  ...Object.keys(SWITCHES),
  ...REPLACERS,
  COMPARATOR,
];

export function refuseSettings(
  effective: Effective,
  isSecurityOn: boolean,
  refused: RefusedList,
): void {
  const kinds = new Set<string>();
  const isAdvanced = isOn(effective.get('advanced-network.enabled'));
  for (const statement of effective.values()) {
    const { pattern, text } = statement;
    const reason = isElsewhere(isAdvanced, pattern) ? undefined : SWITCHES[pattern];
    if (reason !== undefined && isOn(statement)) refused.add(statement, reason);
    const kind = REALM_KIND.exec(pattern);
    if (isSecurityOn && kind !== null && kind[2] !== 'simple' && !kinds.has(kind[0])) {
      kinds.add(kind[0]);
      const seen = statement.path[statement.path.indexOf('authentication') + 1];
      refused.add(
        statement,
        `realms of kind ${seen} are not supported; write the users below authentication.simple`,
      );
    }
    const lost = SECURITY_CLASSES.get(pattern);
    if (isSecurityOn && lost !== undefined) refused.add(statement, lost);
    if (isSecurityOn && SKIPPED_IDENTITY.test(pattern) && SKIPS.has(statement.path.at(-1))) {
      const reason = 'name, address and roles of a user are always checked; set this to false';
      if (readBoolean(text) !== false) refused.add(statement, reason);
    }
    if (pattern === COMPARATOR && text.trim() !== '') {
      refused.add(
        statement,
        'classes that order items are not supported, so polls would return other items; remove it',
      );
    }
    if (REPLACERS.has(pattern) && text !== PROPERTY_REPLACER) {
      refused.add(
        statement,
        'classes that replace texts are not supported; use a placeholder for an environment variable',
      );
    }
  }
}

/** Whether the setting is in `network` or `advanced-network`, whichever is not in force. */
function isElsewhere(isAdvanced: boolean, pattern: string): boolean {
  return pattern.startsWith(`${REST_ENDPOINT}.`)
    ? !isAdvanced
    : isAdvanced && pattern.startsWith('network.');
}

/**
 * Whether the statement's text is true. An invalid boolean counts as false; its type is checked
 * elsewhere.
 */
export function isOn(statement: Statement | undefined): boolean {
  return statement !== undefined && readBoolean(statement.text) === true;
}

interface Branch {
  /** Index of its statement; -1 if it has none. */
  index: number;
  below: Map<string, Branch> | undefined;
}

/** A section of the effective statements. */
export type Section = Readonly<Branch>;

/**
 * The effective statements: the last one of each path. They are stored in a tree by the steps of
 * their paths, because joined paths would repeat a long name for each setting below it.
 */
export class Effective {
  readonly #root: Branch = { index: -1, below: undefined };
  readonly #statements: Statement[] = [];

  constructor(statements: readonly Statement[]) {
    for (const statement of statements) this.#put(statement);
  }

  /**
   * Returns the effective statement. `path`: names joined by dots; no name may contain a dot
   * itself.
   */
  get(path: string): Statement | undefined {
    let branch: Branch | undefined = this.#root;
    for (const step of path.split('.')) branch = branch?.below?.get(step);
    return branch && this.#statements[branch.index];
  }

  values(): readonly Statement[] {
    return this.#statements;
  }

  /** Whether a section around the statement, or the statement itself, is off: `enabled: false`. */
  isOff({ path }: Pick<Statement, 'path'>): boolean {
    let branch: Branch | undefined = this.#root;
    for (const step of path) {
      const enabled = this.#statements[branch?.below?.get('enabled')?.index ?? -1];
      if (enabled !== undefined && readBoolean(enabled.text) === false) return true;
      branch = branch?.below?.get(step);
    }
    return false;
  }

  /** Returns the section that the first steps of a path lead to: one object for all its settings. */
  section(path: readonly string[], length: number): Section | undefined {
    let branch: Branch | undefined = this.#root;
    for (let at = 0; at < length; at++) branch = branch?.below?.get(path[at] ?? '');
    return branch;
  }

  /** Returns the effective statement of a setting in a section; '': that of the section itself. */
  settingIn(section: Section, name: string): Statement | undefined {
    const branch = name === '' ? section : section.below?.get(name);
    return this.#statements[branch?.index ?? -1];
  }

  #put(statement: Statement): void {
    let branch = this.#root;
    for (const step of statement.path) {
      branch.below ??= new Map();
      branch = getOrCreate(branch.below, step, () => ({ index: -1, below: undefined }));
    }
    if (branch.index < 0) branch.index = this.#statements.push(statement) - 1;
    else this.#statements[branch.index] = statement;
  }
}
