/**
 * Reads `wan-replication` of a file: its replications and their publishers. A publisher has the
 * settings of wan-publisher-settings.ts; in YAML it is below a name, in XML it is an item. Features
 * that this member lacks (classes, discovery) are refused; settings without effect are left to a
 * warning. Tested by wan.spec.ts.
 */
import { type Config, configSourceOf } from './config.ts';
import { quoted } from './finding-list.ts';
import type { Place } from './place.ts';
import { isOn } from './refused-settings.ts';
import { isHidden, MASK } from './setting.ts';
import { pathOf } from './settings.ts';
import { DEFAULT, sourceAt } from './source.ts';
import { isOfType, pathText, type Statement, type WrittenSection } from './statements.ts';
import {
  PUBLISHERS_MAX,
  type WanConfig,
  type WanPublisher,
  type WanReplication,
  type WanTls,
} from './wan-config.ts';
import type { WanFindings, WanText } from './wan-findings.ts';
import {
  ENDPOINT_PATTERN,
  PUBLISHER_ITEM,
  PUBLISHER_PATH,
  REPLICATION_PATTERN,
} from './wan-paths.ts';
import { type PublisherFault, publisherOf, type SpecifiedPublisher } from './wan-publisher.ts';
import {
  PUBLISHER_KEYS,
  PUBLISHER_SETTINGS,
  type PublisherKey,
  publisherNameOf,
} from './wan-publisher-settings.ts';
import { endpointTls, ownTls, type TargetTls } from './wan-tls.ts';

/** Reads the replications. `config`: the configuration without WAN replication. */
export function readWanReplications(
  text: WanText,
  config: Config,
  findings: WanFindings,
): Pick<WanConfig, 'wanReplications' | 'wanEndpoints'> {
  return new WanReader(text, config, findings).read();
}

/** A publisher while it is read. */
interface Draft {
  readonly path: readonly string[];
  readonly at: Place;
  /** Name of the block; undefined in XML. */
  readonly name: string | undefined;
  /** Statements by their paths below the publisher, with the names of properties. */
  readonly statements: Map<string, Statement>;
  /** Kinds of discovery that are written as sections. */
  readonly sections: Map<string, WrittenSection>;
}

/** Number of steps of a path down to the publisher. */
const PUBLISHER_DEPTH = 4;
const DISCOVERIES = ['aws', 'gcp', 'azure', 'kubernetes', 'eureka'] as const;
const STRATEGY =
  /^discovery-strategies\.(discovery-strategies\.\[\d+\]|discovery-strategy)\.(enabled|class)$/;
const KEYS: ReadonlyMap<string, PublisherKey> = new Map(
  PUBLISHER_KEYS.map((key) => [publisherNameOf(key), key]),
);
const NO_CLASS = 'custom classes are not supported; ';

class WanReader {
  readonly #text: WanText;
  readonly #config: Config;
  readonly #findings: WanFindings;
  /** Drafts by replication, then by the name of the block or the item. */
  readonly #drafts = new Map<string, Map<string, Draft>>();
  /** Statements of endpoint configurations by name, then by path below. */
  readonly #endpoints = new Map<string, Map<string, Statement>>();
  /**
   * TLS of the endpoint configurations by name; '' is that of one without a name, or else of
   * `network.ssl`.
   */
  readonly #tls = new Map<string, TargetTls>();
  readonly #usable = new Map<string, WanTls | undefined>();
  #publisherCount = 0;

  constructor(text: WanText, config: Config, findings: WanFindings) {
    this.#text = text;
    this.#config = config;
    this.#findings = findings;
  }

  read(): Pick<WanConfig, 'wanReplications' | 'wanEndpoints'> {
    this.#readBlocks();
    for (const statement of this.#text.statements) this.#readStatement(statement);
    this.#readEndpoints();
    const replications = new Map<string, WanReplication>();
    for (const [name, drafts] of this.#drafts) {
      const publishers = this.#publishersOf(drafts);
      replications.set(name, { name, publishers });
      if (drafts.size > 0) continue;
      const steps = ['wan-replication', name];
      this.#findings.values.push({ steps, value: '', source: { kind: 'file', name: '' } });
    }
    return { wanReplications: replications, wanEndpoints: this.#usable };
  }

  #readBlocks(): void {
    for (const block of this.#text.blocks) {
      const { pattern, name } = block;
      // An empty name is a problem reported elsewhere.
      if (name === '') continue;
      if (pattern === REPLICATION_PATTERN) mapIn(this.#drafts, name);
      else if (pattern === ENDPOINT_PATTERN) mapIn(this.#endpoints, name);
      else if (pattern === PUBLISHER_PATH) this.#addDraft(block, name);
    }
    for (const section of this.#text.written) {
      const { path, pattern, at, isEmpty } = section;
      if (pattern === PUBLISHER_ITEM) this.#addDraft(section, undefined);
      else if (pattern === `${REPLICATION_PATTERN}.custom-publisher` && !isEmpty) {
        const statement = { path, pattern, at, text: '', types: [] };
        this.#findings.refuse(statement, `${NO_CLASS}write a batch-publisher`);
      } else if (path.length === PUBLISHER_DEPTH + 1) {
        this.#draftAt(path)?.sections.set(path.at(-1) ?? '', section);
      }
    }
  }

  #addDraft({ path, at }: Pick<Draft, 'path' | 'at'>, name: string | undefined): void {
    const drafts = mapIn(this.#drafts, path[1] ?? '');
    const key = path[PUBLISHER_DEPTH - 1] ?? '';
    if (drafts.has(key)) return;
    drafts.set(key, { path, at, name, statements: new Map(), sections: new Map() });
  }

  #draftAt(path: readonly string[]): Draft | undefined {
    return this.#drafts.get(path[1] ?? '')?.get(path[PUBLISHER_DEPTH - 1] ?? '');
  }

  #readStatement(statement: Statement): void {
    const { path, pattern } = statement;
    if (pattern.startsWith(`${ENDPOINT_PATTERN}.`)) {
      const [, , name = ''] = path;
      // An endpoint configuration without a name is not a block.
      const statements = name === '' ? mapIn(this.#endpoints, '') : this.#endpoints.get(name);
      statements?.set(path.slice(3).join('.'), statement);
    } else if (pattern === `${REPLICATION_PATTERN}.consumer.class-name`) {
      this.#findings.refuse(statement, `${NO_CLASS}remove it: a member receives without it`);
    } else if (pattern.startsWith(`${REPLICATION_PATTERN}.custom-publisher`)) {
      this.#findings.used.add(statement);
    } else if (pattern.startsWith(PUBLISHER_PATH) || pattern.startsWith(PUBLISHER_ITEM)) {
      this.#draftAt(path)?.statements.set(path.slice(PUBLISHER_DEPTH).join('.'), statement);
    }
  }

  #readEndpoints(): void {
    const ofMember = new Map<string, Statement>();
    for (const statement of this.#text.statements) {
      if (statement.pattern === 'network.ssl.properties.{name}') {
        ofMember.set(statement.path[3] ?? '', statement);
      }
    }
    const own = ownTls(this.#config, ofMember);
    this.#tls.set('', own);
    this.#usable.set('', own.tls);
    for (const [name, statements] of this.#endpoints) {
      const read = endpointTls(statements);
      // An endpoint configuration without a name that sets no TLS does not replace that of the
      // member.
      if (name === '' && !statements.has('ssl.enabled') && read.faults.length === 0) continue;
      this.#tls.set(name, read);
      if (read.faults.length > 0) continue;
      this.#usable.set(name, read.tls);
      for (const statement of read.used) this.#findings.showOnce(statement);
    }
  }

  #publishersOf(drafts: ReadonlyMap<string, Draft>): WanPublisher[] {
    const publishers = new Map<string, WanPublisher>();
    for (const draft of drafts.values()) {
      const { specified, wrong } = this.#readPublisher(draft);
      if (this.#refuseDiscovery(draft)) wrong.add('targetEndpoints');
      this.#refuseEngine(draft);
      if (this.#refuseEndpoint(specified.endpoint ?? '')) wrong.add('endpoint');
      const made = publisherOf(specified, draft.name, this.#usable, this.#config.wanQueueBytesMax);
      if (!('publisherId' in made)) {
        for (const fault of made) if (!wrong.has(fault.key)) this.#complain(draft, fault);
      } else if (publishers.has(made.publisherId)) this.#complainOfTwin(draft, made.publisherId);
      else {
        publishers.set(made.publisherId, made);
        this.#count(draft);
        this.#show(draft, made, specified);
      }
    }
    return [...publishers.values()];
  }

  /**
   * Returns the values of the settings, and the settings whose values are wrong, which are
   * problems.
   */
  #readPublisher({ statements, path }: Draft): {
    specified: SpecifiedPublisher;
    wrong: Set<PublisherKey>;
  } {
    const { used, problems } = this.#findings;
    const specified: Record<string, unknown> = {};
    const wrong = new Set<PublisherKey>();
    for (const [name, statement] of statements) {
      const key = KEYS.get(name);
      if (key === undefined) continue;
      used.add(statement);
      const { text, at } = statement;
      // As in the original, a blank id counts as missing.
      if (key === 'publisherId' && text.trim() === '') continue;
      const row = PUBLISHER_SETTINGS[key];
      const parsed = row.parse(text);
      if ('value' in parsed) specified[key] = parsed.value;
      else {
        wrong.add(key);
        const seen = isHidden(row, text) ? MASK : quoted(text);
        // A text of another type is a problem reported elsewhere.
        if (!isOfType(statement)) continue;
        problems.add(
          at,
          () => `Cannot use ${pathText([...path, name])} ${seen}: not ${row.expects}`,
        );
      }
    }
    return { specified: specified as SpecifiedPublisher, wrong };
  }

  /** Refuses enabled discovery; returns whether any is enabled. */
  #refuseDiscovery({ path, statements, name, sections }: Draft): boolean {
    const isXml = name === undefined;
    const on: (readonly [Statement, string])[] = [];
    for (const kind of DISCOVERIES) {
      const enabled = statements.get(`${kind}.enabled`);
      const section = sections.get(kind);
      // As in the original, a section is on by default in XML and off in YAML.
      if (isOn(enabled)) on.push([enabled as Statement, kind]);
      else if (isXml && enabled === undefined && section !== undefined) {
        on.push([{ ...section, text: '', types: [] }, kind]);
      }
    }
    for (const [place, statement] of statements) {
      const [, item, last] = STRATEGY.exec(place) ?? [];
      if (item === undefined) continue;
      const enabled = statements.get(`discovery-strategies.${item}.enabled`);
      const isDefault = !isXml && last === 'class' && enabled === undefined;
      if (isDefault || (last === 'enabled' && isOn(statement))) on.push([statement, place]);
    }
    for (const [statement] of on) {
      const publisher = pathText(path);
      this.#findings.refuse(
        statement,
        `discovery of targets is not supported; set their addresses as target-endpoints of ${publisher}`,
      );
    }
    return on.length > 0;
  }

  #refuseEngine({ path, at }: Draft): void {
    const { engineUrl } = this.#config;
    if (engineUrl === undefined) return;
    const { name } = configSourceOf(this.#config, 'engineUrl');
    const engine = `${pathOf('engineUrl')}${name === '' ? '' : ` (${name})`}`;
    const statement = { path, pattern: '', at, text: '', types: [] };
    this.#findings.refuse(
      statement,
      `WAN replication needs a member that stores its own data; remove it or ${engine}`,
    );
  }

  /**
   * Refuses the settings that make the endpoint configuration unusable; returns whether there are
   * any.
   */
  #refuseEndpoint(name: string): boolean {
    const { used = [], faults = [] } = this.#tls.get(name) ?? {};
    for (const [statement, reason] of faults) {
      if (!this.#findings.used.has(statement)) this.#findings.refuse(statement, reason);
    }
    for (const statement of used) this.#findings.showOnce(statement);
    return faults.length > 0;
  }

  #count({ path, at }: Draft): void {
    this.#publisherCount += 1;
    if (this.#publisherCount !== PUBLISHERS_MAX + 1) return;
    const message = () => `Cannot use ${pathText(path)}: more than ${PUBLISHERS_MAX} publishers`;
    this.#findings.problems.add(at, message);
  }

  #complain({ path, at, statements }: Draft, { key, isMissing, reason }: PublisherFault): void {
    const name = publisherNameOf(key);
    const statement = statements.get(name);
    const message = isMissing
      ? () => `Cannot use ${pathText(path)}: no ${name}; ${reason}`
      : () => `Cannot use ${pathText([...path, name])} ${quoted(statement?.text ?? '')}: ${reason}`;
    this.#findings.problems.add(statement?.at ?? at, message);
  }

  #complainOfTwin({ path, at }: Pick<Draft, 'path' | 'at'>, id: string): void {
    const message = () => `Cannot use ${pathText(path)}: publisher id ${quoted(id)} already exists`;
    this.#findings.problems.add(at, message);
  }

  /** Shows a publisher below its id, as in YAML. */
  #show(draft: Draft, made: WanPublisher, specified: SpecifiedPublisher): void {
    const around = [...draft.path.slice(0, PUBLISHER_DEPTH - 1), made.publisherId];
    const { targetEndpoints, endpoint } = specified;
    const texts: SpecifiedPublisher = { ...made, targetEndpoints, endpoint };
    for (const key of PUBLISHER_KEYS) {
      const name = publisherNameOf(key);
      const value = texts[key];
      if (key === 'publisherId' || value === undefined) continue;
      const statement = draft.statements.get(name);
      const isNamed = key === 'clusterName' && statement === undefined && draft.name !== undefined;
      const at = isNamed ? draft.at : statement?.at;
      this.#findings.values.push({
        steps: [...around, ...name.split('.')],
        value: 'isSecret' in PUBLISHER_SETTINGS[key] ? MASK : value,
        source: at === undefined ? DEFAULT : sourceAt(at),
      });
    }
  }
}

function mapIn<Value>(all: Map<string, Map<string, Value>>, name: string): Map<string, Value> {
  const inner = all.get(name) ?? new Map<string, Value>();
  all.set(name, inner);
  return inner;
}
