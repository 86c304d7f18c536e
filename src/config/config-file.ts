/**
 * Reads a configuration file of either form, with the files that it imports, and returns their
 * statements. The statements of an imported file come before those of the importing file, which
 * outweigh them. The parsers are loaded only when there is a file to read.
 */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { whenNeeded } from '../base/when-needed.ts';
import type { DocumentEntry, DocumentNode, ParsedDocument } from './document.ts';
import * as files from './file-bytes.ts';
import { type FileText, fileText, formOf } from './file-text.ts';
import { FindingList, quoted } from './finding-list.ts';
import { type Form, type KnownContent, knownSettings } from './known-settings.ts';
import { hintOf, nearestNames } from './nearest-name.ts';
import type { Root } from './original-root.ts';
import { replacePlaceholders } from './placeholders.ts';
import { readPlainYaml } from './plain-yaml.ts';
import {
  type NamedBlock,
  pathText,
  type Statement,
  StatementReader,
  type WrittenSection,
} from './statements.ts';

/** Roots of a file: our own, and the original's. */
const ROOTS = ['grid', 'hazelcast'];
/** Beginning of the roots of files for the original's clients. */
const CLIENT_ROOT = 'hazelcast-client';
const FILES_MAX = 100;
/** Share of the work that parsing a file takes. */
const PARSING_PART = 0.6;
/** Characters of a text that is read before anybody waits for it. */
const LENGTH_UNNOTICED = 1_048_576;
/** Characters of all texts whose placeholders are replaced, as many as a file has bytes. */
const REPLACED_LENGTH_MAX = 16_777_216;

interface UnsetPlaceholder {
  readonly name: string;
  readonly statement: Statement;
}

export interface FileContent {
  readonly statements: readonly Statement[];
  readonly blocks: readonly NamedBlock[];
  /** Sections and settings of security, empty ones included. */
  readonly written: readonly WrittenSection[];
  readonly problems: FindingList;
  /** Warnings of unknown names in sections without meaning here. */
  readonly unknown: FindingList;
  readonly unset: readonly UnsetPlaceholder[];
  /** The first file's root, where it can be used. */
  readonly root: Root | undefined;
  /** The first file, where it was a pipe and has been read now. */
  readonly piped?: files.PipedFile;
}

interface FileReading {
  readonly environment: NodeJS.ProcessEnv;
  /** Paths of our own settings. */
  readonly ownPaths: readonly string[];
  /** The sections in which names have a meaning here, by their patterns. */
  readonly sections: ReadonlySet<string>;
  /** Patterns of the elements of XML that are items of lists. */
  readonly lists: ReadonlySet<string>;
  readonly onProgress: (done: string) => void;
}

/**
 * `mayBePipe`: whether to wait for a pipe's writer. Throws FileFault or the system's error when the
 * file itself cannot be read.
 */
export async function readConfigFile(
  file: string,
  mayBePipe: boolean,
  reading: FileReading,
): Promise<FileContent> {
  const piped = mayBePipe ? files.readPipe(file) : undefined;
  if (piped !== undefined) return { ...(await readPipedFile(piped, reading)), piped };
  return await readBytes(file, files.readRegularFile(file), reading);
}

/** Takes the bytes that were read from a pipe before. */
export async function readPipedFile(
  file: files.PipedFile,
  reading: FileReading,
): Promise<FileContent> {
  return await readBytes(file.name, file, reading);
}

async function readBytes(
  name: string,
  file: files.FileBytes,
  reading: FileReading,
): Promise<FileContent> {
  const reader = new FileReader(reading);
  await reader.readFile(name, file, []);
  return reader.end();
}

/** A text that is no file, read like a file of this name; it must not import files. */
export async function readConfigText(
  name: string,
  text: string,
  reading: FileReading,
): Promise<FileContent> {
  const reader = new FileReader(reading);
  await reader.readText(name, { form: formOf(name, text), text }, []);
  return reader.end();
}

class FileReader {
  readonly #problems = new FindingList();
  readonly #reading: FileReading;
  readonly #reader: StatementReader;
  readonly #known = new Map<Form, KnownContent>();
  #root: Root | undefined;
  #count = 0;

  constructor(reading: FileReading) {
    this.#reading = reading;
    this.#reader = new StatementReader(reading.sections, reading.lists);
  }

  /** `around`: the files that import this one, the outermost first. */
  async readFile(
    name: string,
    file: files.FileBytes,
    around: readonly files.FilePlace[],
  ): Promise<void> {
    const text = fileText(name, file.bytes, this.#problems);
    if (text !== undefined) await this.readText(name, text, [...around, file.place]);
  }

  /**
   * `within`: the files that import this one, then this one itself; empty for a text that is no file.
   */
  async readText(file: string, text: FileText, within: readonly files.FilePlace[]): Promise<void> {
    this.#count += 1;
    const { form } = text;
    const { onProgress } = this.#reading;
    const { length } = text.text;
    const tell = (part: number): void => onProgress(`${file}, ${Math.floor(part * 100)} %`);
    const parsing = (offset: number): void => tell((offset / length) * PARSING_PART);
    const { root, problems } = await parse(text, file, parsing);
    if (length > LENGTH_UNNOTICED) tell(PARSING_PART);
    const isRoot = root !== undefined && ROOTS.includes(root.name);
    const other = isRoot ? helmFault(root) : otherFault(text);
    if (other !== undefined) {
      this.#problems.add({ file, line: 1, column: 1 }, () => other);
      return;
    }
    this.#problems.addAll(problems);
    if (root === undefined || !this.#checkRoot(root, form)) return;
    if (within.length <= 1) this.#root = { name: root.name, at: root.at };
    const entries: DocumentEntry[] = [];
    for (const entry of root.node.entries) {
      if (entry.name !== 'import') {
        entries.push(entry);
        continue;
      }
      if (entry.node.entries.length > 0 && !this.#check(entry, form)) continue;
      for (const node of importsOf(entry.node)) await this.#import(node, within);
    }
    this.#reader.read({ ...root.node, entries }, this.#knownOf(form), form);
  }

  end(): FileContent {
    const { blocks, written, unknown } = this.#reader;
    const problems = this.#problems;
    problems.addAll(this.#reader.problems);
    const unset: UnsetPlaceholder[] = [];
    let room = REPLACED_LENGTH_MAX;
    const statements = this.#reader.statements.map((statement) => {
      if (!statement.text.includes('${')) return statement;
      const replaced = replacePlaceholders(statement.text, this.#reading.environment, room);
      if (replaced === undefined) {
        problems.add(statement.at, () => {
          const where = pathText(statement.path);
          return `Cannot use ${where}: its variables make more than ${REPLACED_LENGTH_MAX} characters`;
        });
        room = 0;
        return statement;
      }
      room -= replaced.text.length;
      for (const name of replaced.unset) unset.push({ name, statement });
      return { ...statement, text: replaced.text };
    });
    return { statements, blocks, written, problems, unknown, unset, root: this.#root };
  }

  /** Whether all names in the entry are known ones. */
  #check(entry: DocumentEntry, form: Form): boolean {
    const reader = new StatementReader(this.#reading.sections);
    reader.read({ at: entry.at, entries: [entry] }, this.#knownOf(form), form);
    this.#problems.addAll(reader.problems);
    return reader.problems.count === 0;
  }

  #checkRoot({ name, at, node }: DocumentEntry, form: Form): boolean {
    if (ROOTS.includes(name)) {
      const isValue = node.items !== undefined || (node.text ?? '') !== '';
      if (!isValue) return true;
      const seen = node.items === undefined ? quoted(node.text ?? '') : 'a list';
      this.#problems.add(node.at, () => `Cannot use ${name}: ${seen}, not a section`);
      return false;
    }
    this.#problems.add(at, () => {
      const root = `Cannot use root ${quoted(name)}: not ${ROOTS.join(' or ')}`;
      if (name.startsWith(CLIENT_ROOT)) return `${root}; the file is a client's`;
      const below = form === 'xml' ? '<grid>' : 'grid:';
      return root + (hintOf(nearestNames(name, ROOTS)) || `; put it below ${below}`);
    });
    return false;
  }

  async #import(
    { at, text = '' }: DocumentNode,
    within: readonly files.FilePlace[],
  ): Promise<void> {
    const { text: resource = text } =
      replacePlaceholders(text, this.#reading.environment, REPLACED_LENGTH_MAX) ?? {};
    const refuse = (reason: string): void => {
      this.#problems.add(at, () => `Cannot import ${quoted(resource)}: ${reason}`);
    };
    const importing = within.at(-1);
    if (importing === undefined) return refuse('this text is no file');
    if (/^(?!file:)[a-z]{2,}:/i.test(resource) || resource === '') return refuse('not a file');
    if (this.#count === FILES_MAX) return refuse(`more than ${FILES_MAX} files`);
    try {
      const name = importedPath(resource, importing);
      const file = files.readRegularFile(name);
      if (within.some(({ identity }) => identity === file.place.identity)) {
        return refuse('it is being read already, so it imports itself');
      }
      await this.readFile(name, file, within);
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

const INSIDE = "the member's file is inside";

/** The fault of a text that is a file of another program, with the member's inside. */
function otherFault({ text }: FileText): string | undefined {
  const isManifest = /^"?apiVersion"?:/m.test(text) && /^"?kind"?:/m.test(text);
  if (isManifest) {
    return `Cannot use a manifest of Kubernetes: ${INSIDE}, below data of a ConfigMap; write it to a file`;
  }
  const isHelm = /^hazelcast:/m.test(text) && /^ +(yaml|existingConfigMap):/m.test(text);
  return isHelm ? HELM_FAULT : undefined;
}

const HELM_FAULT = `Cannot use values of Helm: ${INSIDE}, below hazelcast.yaml; write it to a file`;

/** The fault of a file of which only the root is that of a member's. */
function helmFault({ node }: DocumentEntry): string | undefined {
  const isHelm = node.entries.some(
    ({ name, node: below }) =>
      name === 'yaml' && below.entries.some((entry) => ROOTS.includes(entry.name)),
  );
  return isHelm ? HELM_FAULT : undefined;
}

/** The reason why a file cannot be read, in words. Throws any error that is not the system's. */
export function fileFault(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof files.FileFault) return message;
  if (code === undefined) throw error;
  return { ENOENT: 'no such file', EACCES: 'not permitted', EISDIR: 'a directory' }[code] ?? code;
}

async function parse(
  { form, text }: FileText,
  file: string,
  onProgress: (offset: number) => void,
): Promise<ParsedDocument> {
  if (form === 'xml') return (await xmlReader()).parseXml(text, file, onProgress);
  const root = readPlainYaml(text, file, onProgress);
  if (root !== undefined) return { root, problems: new FindingList() };
  return (await yamlReader()).parseYaml(text, file, onProgress);
}

const xmlReader = whenNeeded(() => import('./xml-document.ts'));
const yamlReader = whenNeeded(() => import('./yaml-document.ts'));

/** The files that an import names: one text, a list of texts, or in XML the attribute `resource`. */
function importsOf(node: DocumentNode): readonly DocumentNode[] {
  const resource = node.entries.find(({ name }) => name === '@resource');
  return node.items ?? [resource?.node ?? node];
}

function importedPath(resource: string, { folder }: files.FilePlace): string {
  const path = resource.startsWith('file://') ? pathOfUrl(resource) : undefined;
  const name = path ?? resolve(folder, resource.replace(/^file:/, ''));
  if (name.includes('\0')) throw new files.FileFault('no name of a file has a NUL');
  return name;
}

/** Throws FileFault for a text that is not the URL of a file on this machine. */
function pathOfUrl(url: string): string {
  try {
    return fileURLToPath(url);
  } catch (error) {
    throw new files.FileFault(`no URL of a file here: ${(error as Error).message}`);
  }
}
