/**
 * Reads the part of a file for WAN replication: the replications with their publishers, and the
 * settings of maps. A publisher is below a name in YAML, and an item in XML. Features that this
 * member lacks (classes, discovery) are refused; settings without effect are left to a warning.
 */

import { getOrCreate } from '../base/get-or-create.ts';
import { pathText, quoted } from '../config/finding-list.ts';
import { isOn } from '../config/refused-settings.ts';
import { SectionReading } from '../config/section-reading.ts';
import { pathOf } from '../config/setting.ts';
import type { Sourced } from '../config/setting-table.ts';
import type { Place } from '../config/source.ts';
import type { NamedBlock, Statement, WrittenSection } from '../config/statements.ts';
import type { DataConfig } from '../data/data-settings.ts';
import { ENGINE_SETTINGS, type EngineConfig } from '../engine/engine-settings.ts';
import type { TlsFiles } from '../http/tls-files.ts';
import { endpointTls, ownTls, type TargetTls } from '../security/tls-reading.ts';
import type { TlsConfig } from '../security/tls-settings.ts';
import { sharedMapWan } from './shared-wan-config.ts';
import {
  PUBLISHERS_MAX,
  type WanConfig,
  type WanPublisherOptions,
  type WanReplication,
} from './wan-config.ts';
import { readMapWan } from './wan-map-reading.ts';
import { type PublisherFault, publisherOf, type SpecifiedPublisher } from './wan-publisher.ts';
import {
  DISCOVERIES,
  ENDPOINT_PATTERN,
  NO_CLASS,
  PUBLISHER_ITEM,
  PUBLISHER_KEYS,
  PUBLISHER_PATH,
  PUBLISHER_SETTINGS,
  type PublisherKey,
  publisherNameOf,
  REF_PATH,
  REPLICATION_PATTERN,
  type WanSettings,
} from './wan-settings.ts';

/** Patterns of names that have an effect without content. */
export const WAN_BLOCKS = [
  REPLICATION_PATTERN,
  PUBLISHER_PATH,
  ENDPOINT_PATTERN,
  REF_PATH,
] as const;

/** The settings that the reader needs. */
type Config = Sourced &
  TlsConfig &
  WanSettings &
  Pick<EngineConfig, 'engineUrl'> &
  Pick<DataConfig, 'mapTimeToLiveSeconds'>;

interface WanText {
  /** In order of increasing precedence. */
  readonly statements: readonly Statement[];
  readonly blocks: readonly NamedBlock[];
  readonly written: readonly WrittenSection[];
}

/** The configuration in force, as a text that is added to it needs it. */
export interface AddedTo {
  /** Names of its replications, to which maps of the text may refer. */
  readonly replications: readonly string[];
  /** Whether servers store the data. */
  readonly isOnServers: boolean;
}

/**
 * Reads the part. `config`: the configuration without WAN replication. `around`: the configuration to
 * which the text is added.
 */
export function readWan(
  text: WanText,
  config: Config,
  around?: AddedTo,
): { readonly config: WanConfig; readonly reading: SectionReading } {
  const reading = new SectionReading();
  const own = new WanReader(text, config, reading).read();
  const names = new Set(around?.replications ?? own.wanReplications.keys());
  const isOnServers = around?.isOnServers ?? config.engineUrl !== undefined;
  const mapWan = readMapWan(text, names, isOnServers, reading);
  const shared =
    config.engineUrl === undefined
      ? mapWan
      : sharedMapWan(mapWan, config.mapTimeToLiveSeconds.keys());
  return { config: { ...own, mapWan: shared }, reading };
}

/** A publisher while it is read. */
interface Draft {
  readonly path: readonly string[];
  readonly at: Place;
  /** Name of the block; undefined in XML. */
  readonly name: string | undefined;
  readonly rows: Map<PublisherKey, Statement>;
  /** All statements by their paths below the publisher. */
  readonly statements: Map<string, Statement>;
  /** Kinds of discovery that are written as sections. */
  readonly sections: Map<string, WrittenSection>;
}

/** Number of steps of a path down to the publisher. */
const PUBLISHER_DEPTH = 4;
const STRATEGY =
  /^discovery-strategies\.(discovery-strategies\.\[\d+\]|discovery-strategy)\.(enabled|class)$/;
const KEYS: ReadonlyMap<string, PublisherKey> = new Map(
  PUBLISHER_KEYS.map((key) => [publisherNameOf(key), key]),
);

class WanReader {
  readonly #text: WanText;
  readonly #config: Config;
  readonly #reading: SectionReading;
  /** Drafts by replication, then by the name of the block or the item. */
  readonly #drafts = new Map<string, Map<string, Draft>>();
  /** Statements of endpoint configurations by name, then by path below. */
  readonly #endpoints = new Map<string, Map<string, Statement>>();
  /**
   * TLS of the endpoint configurations by name; '' is that of one without a name, or else of
   * `network.ssl`.
   */
  readonly #tls = new Map<string, TargetTls>();
  readonly #usable = new Map<string, TlsFiles | undefined>();
  #publisherCount = 0;

  constructor(text: WanText, config: Config, reading: SectionReading) {
    this.#text = text;
    this.#config = config;
    this.#reading = reading;
  }

  read(): Pick<WanConfig, 'wanReplications' | 'wanEndpoints'> {
    this.#readBlocks();
    for (const statement of this.#text.statements) this.#readStatement(statement);
    this.#readEndpoints();
    const replications = new Map<string, WanReplication>();
    for (const [name, drafts] of this.#drafts) {
      replications.set(name, { name, publishers: this.#publishersOf(drafts) });
      if (drafts.size > 0) continue;
      const steps = ['wan-replication', name];
      this.#reading.values.push({ steps, value: '', source: { kind: 'file', name: '' } });
    }
    return { wanReplications: replications, wanEndpoints: this.#usable };
  }

  #readBlocks(): void {
    for (const block of this.#text.blocks) {
      const { pattern, name } = block;
      // An empty name is a problem reported elsewhere.
      if (name === '') continue;
      if (pattern === REPLICATION_PATTERN) this.#draftsOf(name);
      else if (pattern === ENDPOINT_PATTERN) this.#endpointOf(name);
      else if (pattern === PUBLISHER_PATH) this.#addDraft(block, name);
    }
    for (const section of this.#text.written) {
      const { path, pattern, isEmpty } = section;
      if (pattern === PUBLISHER_ITEM) this.#addDraft(section, undefined);
      else if (pattern === `${REPLICATION_PATTERN}.custom-publisher` && !isEmpty) {
        this.#reading.refuse(statementAt(section), `${NO_CLASS}write a batch-publisher`);
      } else if (path.length === PUBLISHER_DEPTH + 1) {
        this.#draftAt(path)?.sections.set(path.at(-1) ?? '', section);
      }
    }
  }

  #draftsOf(replication: string): Map<string, Draft> {
    return getOrCreate(this.#drafts, replication, () => new Map());
  }

  #endpointOf(name: string): Map<string, Statement> {
    return getOrCreate(this.#endpoints, name, () => new Map());
  }

  #addDraft({ path, at }: Pick<Draft, 'path' | 'at'>, name: string | undefined): void {
    const drafts = this.#draftsOf(path[1] ?? '');
    const key = path[PUBLISHER_DEPTH - 1] ?? '';
    if (drafts.has(key)) return;
    const draft = { path, at, name, rows: new Map(), statements: new Map(), sections: new Map() };
    drafts.set(key, draft);
  }

  #draftAt(path: readonly string[]): Draft | undefined {
    return this.#drafts.get(path[1] ?? '')?.get(path[PUBLISHER_DEPTH - 1] ?? '');
  }

  #readStatement(statement: Statement): void {
    const { path, pattern } = statement;
    if (pattern.startsWith(`${ENDPOINT_PATTERN}.`)) {
      const [, , name = ''] = path;
      // An endpoint configuration without a name is not a block.
      const statements = name === '' ? this.#endpointOf('') : this.#endpoints.get(name);
      statements?.set(path.slice(3).join('.'), statement);
    } else if (pattern === `${REPLICATION_PATTERN}.consumer.class-name`) {
      this.#reading.refuse(statement, `${NO_CLASS}remove it: a member receives without it`);
    } else if (pattern.startsWith(`${REPLICATION_PATTERN}.custom-publisher`)) {
      this.#reading.used.add(statement);
    } else if (pattern.startsWith(PUBLISHER_PATH) || pattern.startsWith(PUBLISHER_ITEM)) {
      const draft = this.#draftAt(path);
      const name = path.slice(PUBLISHER_DEPTH).join('.');
      const key = KEYS.get(name);
      draft?.statements.set(name, statement);
      if (key !== undefined) draft?.rows.set(key, statement);
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
      for (const statement of read.used) this.#reading.showOnce(statement);
    }
  }

  #publishersOf(drafts: ReadonlyMap<string, Draft>): WanPublisherOptions[] {
    const publishers = new Map<string, WanPublisherOptions>();
    for (const draft of drafts.values()) {
      const { values, wrong } = this.#reading.rows(PUBLISHER_SETTINGS, draft.rows);
      if (this.#refuseDiscovery(draft)) wrong.add('targetEndpoints');
      if (this.#refuseEndpoint(values.endpoint ?? '')) wrong.add('endpoint');
      this.#warnOfEngine(draft, values);
      const made = publisherOf(values, draft.name, this.#usable, this.#config);
      if (!('publisherId' in made)) {
        for (const fault of made) if (!wrong.has(fault.key)) this.#complain(draft, fault);
      } else if (publishers.has(made.publisherId)) {
        const id = quoted(made.publisherId);
        this.#reading.problems.refuse(draft, () => `publisher id ${id} already exists`);
      } else {
        publishers.set(made.publisherId, made);
        this.#publisherCount += 1;
        if (this.#publisherCount === PUBLISHERS_MAX + 1) {
          this.#reading.problems.refuse(draft, () => `more than ${PUBLISHERS_MAX} publishers`);
        }
        this.#show(draft, made, values);
      }
    }
    return [...publishers.values()];
  }

  /** Refuses enabled discovery; returns whether any is enabled. */
  #refuseDiscovery({ path, statements, name, sections }: Draft): boolean {
    const isXml = name === undefined;
    const on: Statement[] = [];
    for (const kind of DISCOVERIES) {
      const enabled = statements.get(`${kind}.enabled`);
      const section = sections.get(kind);
      // As in the original, a section is on by default in XML and off in YAML.
      if (enabled !== undefined && isOn(enabled)) on.push(enabled);
      else if (isXml && enabled === undefined && section !== undefined) {
        on.push(statementAt(section));
      }
    }
    for (const [place, statement] of statements) {
      const [, item, last] = STRATEGY.exec(place) ?? [];
      if (item === undefined) continue;
      const enabled = statements.get(`discovery-strategies.${item}.enabled`);
      const isDefault = !isXml && last === 'class' && enabled === undefined;
      if (isDefault || (last === 'enabled' && isOn(statement))) on.push(statement);
    }
    const reason = `discovery of targets is not supported; set their addresses as target-endpoints of ${pathText(path)}`;
    for (const statement of on) this.#reading.refuse(statement, reason);
    return on.length > 0;
  }

  /** Warns about settings that have no effect if servers store the data. */
  #warnOfEngine({ rows }: Draft, { snapshotEnabled }: SpecifiedPublisher): void {
    if (this.#config.engineUrl === undefined) return;
    const snapshot = snapshotEnabled === false ? rows.get('snapshotEnabled') : undefined;
    for (const statement of [rows.get('queueBytesMax'), snapshot]) {
      if (statement === undefined) continue;
      const why = `servers store the data (${pathOf(ENGINE_SETTINGS.engineUrl)})`;
      const { path, at } = statement;
      this.#reading.warnings.add(at, () => `${pathText(path)} has no effect: ${why}`);
    }
  }

  /**
   * Refuses the settings that make the endpoint configuration unusable; returns whether there are
   * any.
   */
  #refuseEndpoint(name: string): boolean {
    const { used = [], faults = [] } = this.#tls.get(name) ?? {};
    for (const [statement, reason] of faults) {
      if (!this.#reading.used.has(statement)) this.#reading.refuse(statement, reason);
    }
    for (const statement of used) this.#reading.showOnce(statement);
    return faults.length > 0;
  }

  #complain(draft: Draft, { key, isMissing, reason }: PublisherFault): void {
    const statement = draft.rows.get(key);
    const { problems } = this.#reading;
    if (statement !== undefined && !isMissing) return problems.refuseText(statement, () => reason);
    const { path } = draft;
    const { at } = statement ?? draft;
    problems.refuse({ path, at }, () => `no ${publisherNameOf(key)}; ${reason}`);
  }

  /** Shows a publisher below its id, as in YAML. */
  #show(draft: Draft, made: WanPublisherOptions, specified: SpecifiedPublisher): void {
    const around = [...draft.path.slice(0, PUBLISHER_DEPTH - 1), made.publisherId];
    const { targetEndpoints, endpoint } = specified;
    const texts: SpecifiedPublisher = { ...made, targetEndpoints, endpoint };
    for (const key of PUBLISHER_KEYS) {
      const value = texts[key];
      if (key === 'publisherId' || value === undefined) continue;
      const at = draft.rows.get(key)?.at;
      const isNamed = key === 'clusterName' && draft.name !== undefined;
      const steps = [...around, ...publisherNameOf(key).split('.')];
      this.#reading.show(steps, PUBLISHER_SETTINGS[key], value, at ?? (isNamed ? draft.at : at));
    }
  }
}

/** Returns a statement that stands for a whole section. */
function statementAt({ path, at }: Pick<Statement, 'path' | 'at'>): Statement {
  return { path, at, pattern: '', text: '', types: [] };
}
