/**
 * Reads a configuration file, YAML or XML, with the files that it imports, and returns their
 * statements. The statements of an imported file precede those of the importing file, which
 * override them. The parsers are loaded only when a file is read. Tested by broken-files.spec.ts.
 */

import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lazyModule } from '../base/lazy-module.ts';
import type { DocumentEntry, DocumentNode, ParsedDocument } from './document.ts';
import { documentSchema, type Form, type SectionSchema } from './document-schema.ts';
import * as files from './file-text.ts';
import { FindingList, pathText, quoted } from './finding-list.ts';
import { hintOf, nearestNames } from './nearest-name.ts';
import { replacePlaceholders } from './placeholders.ts';
import { readPlainYaml } from './plain-yaml.ts';
import type { Place } from './source.ts';
import {
  type NamedBlock,
  type Statement,
  StatementReader,
  type WrittenSection,
} from './statements.ts';

/** Roots of a file: that of gridnode, and that of the original. */
const ROOTS = ['grid', 'hazelcast'];
/** Prefix of the roots of files for the original's clients. */
const CLIENT_ROOT = 'hazelcast-client';
const FILES_MAX = 100;
/** Share of the progress of a file that its parsing accounts for. */
const PARSING_PART = 0.6;
/** Length of a text that is read too quickly to report progress, in characters. */
const LENGTH_UNNOTICED = 1_048_576;
/**
 * Maximum length of all texts after the replacement of placeholders, in characters; equals the
 * maximum size of a file in bytes.
 */
const REPLACED_LENGTH_MAX = 16_777_216;

interface UnsetPlaceholder {
  readonly name: string;
  readonly statement: Statement;
}

/** The root of a file. */
export interface Root {
  readonly name: string;
  readonly at: Place;
}

export interface FileContent {
  readonly statements: readonly Statement[];
  readonly blocks: readonly NamedBlock[];
  /** Sections and settings of `security` and `wan-replication`, including empty ones. */
  readonly written: readonly WrittenSection[];
  readonly problems: FindingList;
  /** Warnings about unknown names in sections that have no effect. */
  readonly unknown: FindingList;
  readonly unset: readonly UnsetPlaceholder[];
  /** The first file's root, if it is valid. */
  readonly root: Root | undefined;
  /** The first file, if it is a pipe that has now been read. */
  readonly piped?: files.NamedFile;
}

interface FileReading {
  readonly environment: NodeJS.ProcessEnv;
  /** Paths of the settings in the table of settings. */
  readonly ownPaths: readonly string[];
  /** Patterns of the sections in which settings have an effect. */
  readonly sections: ReadonlySet<string>;
  /** Patterns of the XML elements that are items of lists. */
  readonly lists: ReadonlySet<string>;
  readonly onProgress: (done: string) => void;
}

/**
 * Reads a file and its imports. `mayBePipe`: whether to wait for the writer if the file is a pipe.
 * Throws FileFault or the system's error if the file itself cannot be read.
 */
export async function readConfigFile(
  file: string,
  mayBePipe: boolean,
  reading: FileReading,
): Promise<FileContent> {
  const piped = mayBePipe ? files.readPipe(file) : undefined;
  if (piped !== undefined) return { ...(await readNamedFile(piped, reading)), piped };
  return await readNamedFile({ name: file, ...files.readRegularFile(file) }, reading);
}

/** Reads a file whose bytes have been read, for example from a pipe earlier. */
export async function readNamedFile(
  file: files.NamedFile,
  reading: FileReading,
): Promise<FileContent> {
  const reader = new FileReader(reading);
  await reader.readFile(file.name, file, []);
  return reader.end();
}

/** Reads a text that is not a file like a file of this name; it must not import files. */
export async function readConfigText(
  name: string,
  text: string,
  reading: FileReading,
): Promise<FileContent> {
  const reader = new FileReader(reading);
  await reader.readText(name, { form: files.formOf(name, text), text }, []);
  return reader.end();
}

class FileReader {
  readonly #problems = new FindingList();
  readonly #reading: FileReading;
  readonly #reader: StatementReader;
  #root: Root | undefined;
  #count = 0;

  constructor(reading: FileReading) {
    this.#reading = reading;
    this.#reader = new StatementReader(reading.sections, reading.lists);
  }

  /** Reads a file and its imports. `around`: the files that import this one, outermost first. */
  async readFile(
    name: string,
    file: files.FileBytes,
    around: readonly files.FilePlace[],
  ): Promise<void> {
    const text = files.fileText(name, file.bytes, this.#problems);
    if (text !== undefined) await this.readText(name, text, [...around, file.place]);
  }

  /**
   * Reads a text and its imports. `within`: the files that import this one, then this one; empty
   * for a text that is not a file.
   */
  async readText(
    file: string,
    text: files.FileText,
    within: readonly files.FilePlace[],
  ): Promise<void> {
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
    this.#reader.read({ ...root.node, entries }, this.#schemaOf(form), form);
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
          return `Cannot use ${where}: its variables expand to more than ${REPLACED_LENGTH_MAX} characters`;
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

  /** Whether all names in the entry are known; reports the others. */
  #check(entry: DocumentEntry, form: Form): boolean {
    const reader = new StatementReader(this.#reading.sections);
    reader.read({ at: entry.at, entries: [entry] }, this.#schemaOf(form), form);
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
    if (importing === undefined) return refuse('only a file can import files');
    if (/^(?!file:)[a-z]{2,}:/i.test(resource) || resource === '') return refuse('not a file');
    if (this.#count === FILES_MAX) return refuse(`more than ${FILES_MAX} files`);
    try {
      const name = importedPath(resource, importing);
      const file = files.readRegularFile(name);
      if (within.some(({ identity }) => identity === file.place.identity)) {
        return refuse('the file imports itself');
      }
      await this.readFile(name, file, within);
    } catch (error) {
      refuse(fileFault(error));
    }
  }

  #schemaOf(form: Form): SectionSchema {
    return documentSchema(form, this.#reading.ownPaths);
  }
}

const INSIDE = "the member's configuration is inside";

/** Returns the fault of a text that is another program's file with the member's inside. */
function otherFault({ text }: files.FileText): string | undefined {
  const isManifest = /^"?apiVersion"?:/m.test(text) && /^"?kind"?:/m.test(text);
  if (isManifest) {
    return `Cannot use a Kubernetes manifest: ${INSIDE}, below data of a ConfigMap; write that to a file`;
  }
  const isHelm = /^hazelcast:/m.test(text) && /^ +(yaml|existingConfigMap):/m.test(text);
  return isHelm ? HELM_FAULT : undefined;
}

const HELM_FAULT = `Cannot use Helm values: ${INSIDE}, below hazelcast.yaml; write that to a file`;

/** Returns the fault of a file that has a member's root but is otherwise a file of Helm values. */
function helmFault({ node }: DocumentEntry): string | undefined {
  const isHelm = node.entries.some(
    ({ name, node: below }) =>
      name === 'yaml' && below.entries.some((entry) => ROOTS.includes(entry.name)),
  );
  return isHelm ? HELM_FAULT : undefined;
}

/**
 * Returns the reason why a file cannot be read, in words. Throws errors that are not the system's.
 */
export function fileFault(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof files.FileFault) return message;
  if (code === undefined) throw error;
  return { ENOENT: 'no such file', EACCES: 'not permitted', EISDIR: 'a directory' }[code] ?? code;
}

async function parse(
  { form, text }: files.FileText,
  file: string,
  onProgress: (offset: number) => void,
): Promise<ParsedDocument> {
  if (form === 'xml') return (await xmlReader()).parseXml(text, file, onProgress);
  const root = readPlainYaml(text, file, onProgress);
  if (root !== undefined) return { root, problems: new FindingList() };
  return (await yamlReader()).parseYaml(text, file, onProgress);
}

const xmlReader = lazyModule(() => import('./xml-document.ts'));
const yamlReader = lazyModule(() => import('./yaml-document.ts'));

/**
 * Returns the files that an import names: one text, a list of texts, or in XML the attribute
 * `resource`.
 */
function importsOf(node: DocumentNode): readonly DocumentNode[] {
  const resource = node.entries.find(({ name }) => name === '@resource');
  return node.items ?? [resource?.node ?? node];
}

function importedPath(resource: string, { folder }: files.FilePlace): string {
  const path = resource.startsWith('file://') ? pathOfUrl(resource) : undefined;
  const name = path ?? resolve(folder, resource.replace(/^file:/, ''));
  if (name.includes('\0')) throw new files.FileFault('a file name cannot contain a NUL');
  return name;
}

/** Returns the path of a file URL. Throws FileFault if the URL names no file on this machine. */
function pathOfUrl(url: string): string {
  try {
    return fileURLToPath(url);
  } catch (error) {
    throw new files.FileFault(`not the URL of a local file: ${(error as Error).message}`);
  }
}
