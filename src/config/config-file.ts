/**
 * Reads a configuration file and what it imports, in either form, and gives what they state: first
 * what is imported, then what the importing file says itself, so that it has the last word. The
 * parsers are loaded only when there is a file to read.
 */
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DocumentEntry, DocumentNode, ParsedDocument } from './document.ts';
import { type Form, type KnownContent, knownSettings } from './known-settings.ts';
import { hintOf, nearestNames } from './nearest-name.ts';
import type { Root } from './original-root.ts';
import type { Place } from './place.ts';
import { replacePlaceholders } from './placeholders.ts';
import { Problems, quoted } from './problems.ts';
import {
  type NamedBlock,
  type Statement,
  StatementReader,
  type WrittenSection,
} from './statements.ts';

/** Roots of a file: ours, and the original's. */
const ROOTS = ['grid', 'hazelcast'];
/** A configuration is written by people. */
const FILE_BYTES_MAX = 16_777_216;
const FILES_MAX = 100;

export interface UnsetPlaceholder {
  readonly name: string;
  readonly statement: Statement;
}

export interface FileContent {
  readonly statements: readonly Statement[];
  readonly blocks: readonly NamedBlock[];
  /** What is written of security, also without content. */
  readonly written: readonly WrittenSection[];
  readonly problems: Problems;
  /** Unknown names in sections without meaning here. */
  readonly unknown: Problems;
  readonly unset: readonly UnsetPlaceholder[];
  /** The first file's root, where it can be used. */
  readonly root: Root | undefined;
}

export interface FileReading {
  readonly environment: NodeJS.ProcessEnv;
  /** Paths of our own settings. */
  readonly ownPaths: readonly string[];
  /** The sections in which names count here, by their patterns. */
  readonly sections: ReadonlySet<string>;
}

/** Throws the system's error when the file itself cannot be read. */
export async function readConfigFile(file: string, reading: FileReading): Promise<FileContent> {
  const reader = new FileReader(reading);
  await reader.readFirst(file, readText(file), realpathSync(file));
  return contentOf(reader, reading);
}

/** A text from elsewhere, as if it were a file of this name; it imports nothing. */
export async function readConfigText(
  name: string,
  text: string,
  reading: FileReading,
): Promise<FileContent> {
  const reader = new FileReader(reading);
  await reader.readFirst(name, text, undefined);
  return contentOf(reader, reading);
}

function contentOf(reader: FileReader, reading: FileReading): FileContent {
  const unset: UnsetPlaceholder[] = [];
  const statements = reader.statements.map((statement) => {
    const replaced = replacePlaceholders(statement.text, reading.environment);
    for (const name of replaced.unset) unset.push({ name, statement });
    return { ...statement, text: replaced.text };
  });
  const { blocks, written, problems, unknown, root } = reader;
  return { statements, blocks, written, problems, unknown, unset, root };
}

class FileReader {
  readonly problems = new Problems();
  root: Root | undefined;
  readonly #reading: FileReading;
  readonly #reader: StatementReader;
  readonly #known = new Map<Form, KnownContent>();
  #count = 0;
  #mayImport = true;

  constructor(reading: FileReading) {
    this.#reading = reading;
    this.#reader = new StatementReader(reading.sections);
  }

  get statements(): readonly Statement[] {
    return this.#reader.statements;
  }

  get blocks(): readonly NamedBlock[] {
    return this.#reader.blocks;
  }

  get unknown(): Problems {
    return this.#reader.unknown;
  }

  get written(): readonly WrittenSection[] {
    return this.#reader.written;
  }

  /** `path`: where it lies; undefined where it must not import anything. */
  async readFirst(name: string, text: string, path: string | undefined): Promise<void> {
    this.#mayImport = path !== undefined;
    await this.#read(name, text, [path ?? '']);
    this.problems.addAll(this.#reader.problems);
  }

  /** `within`: the files that import this one, itself last, by their real paths. */
  async #read(file: string, text: string, within: readonly string[]): Promise<void> {
    this.#count += 1;
    const form = formOf(file, text);
    const { root, problems } = await parse(form, text, file);
    this.problems.addAll(problems);
    if (root === undefined || !this.#checkRoot(root)) return;
    if (within.length === 1) this.root = { name: root.name, at: root.at };
    const entries: DocumentEntry[] = [];
    for (const entry of root.node.entries) {
      if (entry.name !== 'import') {
        entries.push(entry);
        continue;
      }
      if (entry.node.entries.length > 0 && !this.#check(entry, form)) continue;
      for (const node of importsOf(entry.node)) await this.#import(node, within);
    }
    this.#reader.read({ ...root.node, entries }, this.#knownOf(form));
  }

  /** Whether the names in an entry that is read here are known ones. */
  #check(entry: DocumentEntry, form: Form): boolean {
    const reader = new StatementReader(this.#reading.sections);
    reader.read({ at: entry.at, entries: [entry] }, this.#knownOf(form));
    this.problems.addAll(reader.problems);
    return reader.problems.count === 0;
  }

  #checkRoot({ name, at }: DocumentEntry): boolean {
    if (ROOTS.includes(name)) return true;
    const hint = hintOf(nearestNames(name, ROOTS));
    const message = `Cannot use root ${quoted(name)}: not ${ROOTS.join(' or ')}${hint}`;
    this.problems.add(at, () => message);
    return false;
  }

  async #import({ at, text = '' }: DocumentNode, within: readonly string[]): Promise<void> {
    const { text: resource } = replacePlaceholders(text, this.#reading.environment);
    const refuse = (reason: string): void => {
      this.problems.add(at, () => `Cannot import ${quoted(resource)}: ${reason}`);
    };
    if (!this.#mayImport) return refuse('this text is no file');
    if (/^(?!file:)[a-z]{2,}:/i.test(resource) || resource === '') return refuse('not a file');
    if (this.#count === FILES_MAX) return refuse(`more than ${FILES_MAX} files`);
    try {
      const file = importedPath(resource, at);
      const real = realpathSync(file);
      if (within.includes(real)) return refuse('it is being read already, so it imports itself');
      await this.#read(file, readText(file), [...within, real]);
    } catch (error) {
      refuse(fileFault(error));
    }
  }

  #knownOf(form: Form): KnownContent {
    const known = this.#known.get(form) ?? knownSettings(form, this.#reading.ownPaths);
    this.#known.set(form, known);
    return known;
  }
}

/** Why a file cannot be read, in words. Throws what is no system error. */
export function fileFault(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof FileTooLarge) return message;
  if (code === undefined) throw error;
  return { ENOENT: 'no such file', EACCES: 'not permitted', EISDIR: 'a directory' }[code] ?? code;
}

class FileTooLarge extends Error {}

function readText(file: string): string {
  if (statSync(file).size > FILE_BYTES_MAX) {
    throw new FileTooLarge(`more than ${FILE_BYTES_MAX} bytes`);
  }
  return readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
}

/** By the name, and where that does not tell, by how it begins. */
function formOf(file: string, text: string): Form {
  if (/\.(ya?ml|json)$/i.test(file)) return 'yaml';
  return /\.xml$/i.test(file) || /^\s*</.test(text) ? 'xml' : 'yaml';
}

async function parse(form: Form, text: string, file: string): Promise<ParsedDocument> {
  if (form === 'xml') return (await import('./xml-document.ts')).parseXml(text, file);
  return (await import('./yaml-document.ts')).parseYaml(text, file);
}

/** What an import names: a text, a list of them, or in XML the attribute `resource`. */
function importsOf(node: DocumentNode): readonly DocumentNode[] {
  const resource = node.entries.find(({ name }) => name === '@resource');
  return node.items ?? [resource?.node ?? node];
}

function importedPath(resource: string, { file }: Place): string {
  if (resource.startsWith('file://')) return fileURLToPath(resource);
  return resolve(dirname(file), resource.replace(/^file:/, ''));
}
