/**
 * Which settings may stand where in a document: those of the original's member file, read from the
 * notation below, and our own, from the table of settings. Two trees, one for each form.
 *
 * The notation: a line is a setting, `:` and what it may hold; what is indented below it belongs to
 * it, too; `+` goes on with the line above. `=` gives types (value-type.ts), several with commas.
 * `{}` is any name, `[]` an item of a list, `...` says that other names are allowed, `*` is the root.
 * `&shape` stands for what the shape of that name holds, `%words` for the words of that name.
 * In XML `@` is an attribute, `map{}` an element that its attribute `name` names, and `a>b` an
 * element `a` whose content is what `b` is in YAML. Every element may repeat.
 */
import { KNOWN_XML } from './known-xml.ts';
import { KNOWN_XML_SHAPES } from './known-xml-shapes.ts';
import { KNOWN_YAML } from './known-yaml.ts';
import { readValueType, type ValueType } from './value-type.ts';

/** What a setting may hold. */
export interface KnownContent {
  readonly children: Map<string, KnownNode>;
  /** What any other name holds. */
  named?: KnownNode;
  item?: KnownNode;
  /** Whether names that are not known may stand here, too. */
  isOpen: boolean;
}

export interface KnownNode {
  /** Of a value here; none: no value may stand here. */
  readonly types: readonly ValueType[];
  readonly content: KnownContent;
  /** Steps of the path in YAML that lead here from the setting around it. */
  readonly steps: readonly string[];
}

/** The document's form. */
export type Form = 'yaml' | 'xml';

/** What a file of the form may hold below its root. */
export function knownSettings(form: Form, ownPaths: readonly string[]): KnownContent {
  const notation = form === 'yaml' ? KNOWN_YAML : KNOWN_XML_SHAPES + KNOWN_XML;
  const root = new NotationReader(form).read(notation);
  for (const path of ownPaths) addOwn(root, path, form);
  return root;
}

/** Names that mean something among properties, by the path of these. */
export const PROPERTY_NAMES: Readonly<Record<string, readonly string[]>> = {
  properties: ['grid.rest.enabled', 'hazelcast.rest.enabled', 'hazelcast.partition.count'],
  ...Object.fromEntries(
    ['network.ssl', 'advanced-network.rest-server-socket-endpoint-config.ssl'].map((ssl) => [
      `${ssl}.properties`,
      [
        ...['keyStore', 'keyStorePassword', 'keyStoreType', 'keyManagerAlgorithm'],
        ...['trustStore', 'trustStorePassword', 'trustStoreType', 'trustManagerAlgorithm'],
        ...['protocol', 'ciphersuites', 'mutualAuthentication', 'validateIdentity'],
        ...['keyFile', 'keyPassword', 'keyCertChainFile', 'trustCertCollectionFile'],
      ],
    ]),
  ),
};

/** A name of the tree as it is written in the form, for messages. */
export function nameInForm(name: string): string {
  return name.startsWith('@') ? `attribute ${name.slice(1)}` : name;
}

interface OpenLine {
  readonly indent: number;
  readonly content: KnownContent;
}

class NotationReader {
  readonly #form: Form;
  readonly #shapes = new Map<string, KnownContent>();
  readonly #words = new Map<string, string>();

  constructor(form: Form) {
    this.#form = form;
  }

  read(notation: string): KnownContent {
    const root = emptyContent();
    const open: OpenLine[] = [{ indent: -1, content: root }];
    for (const line of joinedLines(notation)) {
      const indent = line.search(/\S/);
      while ((open.at(-1)?.indent ?? -1) >= indent) open.pop();
      const around = open.at(-1)?.content ?? root;
      const [head = '', rest] = line.trim().split(/: ?/, 2);
      if (head.startsWith('%')) {
        const [name = '', words = ''] = head.split('=');
        this.#words.set(name, words);
        continue;
      }
      const content = this.#contentOf(head, rest?.trim() ?? '', around, root);
      open.push({ indent, content });
    }
    return root;
  }

  /** What stands behind the head is read; it is known around it. */
  #contentOf(head: string, rest: string, around: KnownContent, root: KnownContent): KnownContent {
    if (rest.startsWith('&')) {
      const shape = this.#shape(rest);
      this.#add(around, head, shape);
      return shape;
    }
    let content: KnownContent;
    if (head === '*') content = root;
    else if (head.startsWith('&')) content = this.#shape(head);
    else content = this.#add(around, head, emptyContent());
    for (const token of rest.split(' ')) {
      if (token === '...') content.isOpen = true;
      else if (token !== '') this.#add(content, token, leafContent(token));
    }
    return content;
  }

  /** Makes a setting known; `token` is its name with types, names and items. Returns its content. */
  #add(around: KnownContent, token: string, content: KnownContent): KnownContent {
    const [key = '', typeText] = token.split('=');
    const types = (typeText ?? '')
      .split(',')
      .filter((type) => type !== '')
      .map((type) => readValueType(this.#words.get(type) ?? type));
    if (this.#form === 'xml') {
      const [name = '', steps] = key.split('>');
      const bare = name.replace('{}', '');
      const path = stepsOf(steps ?? name.replace('@', ''));
      around.children.set(bare, { types, content, steps: path });
      return content;
    }
    const steps = stepsOf(key);
    let holder = around;
    for (const [index, step] of steps.entries()) {
      const isLast = index === steps.length - 1;
      const next = isLast ? content : emptyContent();
      const node = { types: isLast ? types : [], content: next, steps: [step] };
      if (step === '{}') holder.named = node;
      else if (step === '[]') holder.item = node;
      else {
        const known = holder.children.get(step);
        if (known !== undefined && !isLast) {
          holder = known.content;
          continue;
        }
        holder.children.set(step, node);
      }
      holder = next;
    }
    return content;
  }

  #shape(name: string): KnownContent {
    let shape = this.#shapes.get(name);
    if (shape === undefined) {
      shape = emptyContent();
      this.#shapes.set(name, shape);
    }
    return shape;
  }
}

/** The notation's lines, those with a `+` put behind the line they go on with. */
function joinedLines(notation: string): string[] {
  const lines: string[] = [];
  for (const line of notation.split('\n')) {
    if (line.trim() === '') continue;
    const more = /^\s*\+ (.*)$/.exec(line);
    if (more === null) lines.push(line);
    else lines.push(`${lines.pop()}${more[1]?.startsWith('|') ? '' : ' '}${more[1]}`);
  }
  return lines.map((line) => line.replace(/(\S:) {2,}/, '$1 '));
}

/** `users[]` is two steps, `map{}` too. */
function stepsOf(key: string): string[] {
  return key.match(/\{\}|\[\]|[^{}[\]]+/g) ?? [];
}

/** Of a setting that holds nothing known; of `a` and `o` anything may stand there. */
function leafContent(token: string): KnownContent {
  return { children: new Map(), isOpen: /=[ao]$/.test(token) };
}

function emptyContent(): KnownContent {
  return { children: new Map(), isOpen: false };
}

/**
 * Makes a setting of ours known, by its path; in XML as an element and as an attribute. There, names
 * and lists are those of the original, and what is called as the element around it is its text.
 */
function addOwn(root: KnownContent, path: string, form: Form): void {
  if (form === 'xml' && /[{[]|\b([a-z-]+)\.\1$/.test(path)) return;
  let content = root;
  const steps = path.split('.');
  for (const [index, step] of steps.entries()) {
    const isLast = index === steps.length - 1;
    const known = knownStep(content, step);
    if (known !== undefined) {
      content = known.content;
      continue;
    }
    const node = {
      types: isLast ? [readValueType('s')] : [],
      content: emptyContent(),
      steps: [step],
    };
    content.children.set(step, node);
    if (isLast && form === 'xml') content.children.set(`@${step}`, node);
    content = node.content;
  }
}

function knownStep(content: KnownContent, step: string): KnownNode | undefined {
  if (step === '{name}') return content.named;
  if (step === '[]') return content.item;
  return content.children.get(step);
}
