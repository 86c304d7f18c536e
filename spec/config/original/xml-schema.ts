/**
 * Reads an XML schema as a tree of known names: children by name, attributes with `@` before the
 * name, and the types of texts. Number and order of children are omitted, except whether an element
 * may repeat.
 */
import type { DocumentEntry, DocumentNode } from '../../../src/config/document.ts';
import { parseXml } from '../../../src/config/xml-document.ts';
import { emptyTree, leafTree, merged, rangeType, type SchemaTree } from './schema-tree.ts';

/** Returns the tree below the root of this name. */
export function treeOfXmlSchema(text: string, root: string): SchemaTree {
  const { root: schema, problems } = parseXml(text, 'schema');
  if (schema === undefined) throw new Error(`Cannot read schema: ${problems.listed[0]?.message}`);
  return new XmlSchemaReader(schema.node).element(root);
}

/** The built-in types of XML Schema, by name. */
const BUILT_IN: Readonly<Record<string, string>> = {
  string: 's',
  anyURI: 's',
  boolean: 'b',
  byte: 'i-128..127',
  unsignedByte: 'i0..255',
  short: 'i-32768..32767',
  unsignedShort: 'i0..65535',
  int: 'i',
  integer: 'i',
  long: 'i',
  unsignedInt: 'i0..',
  unsignedLong: 'i0..',
  nonNegativeInteger: 'i0..',
  positiveInteger: 'i1..',
  decimal: 'n',
  double: 'n',
  float: 'n',
  anyType: 'a',
};

class XmlSchemaReader {
  readonly #schema: DocumentNode;
  /** Types by name; undefined while a type is being read. */
  readonly #types = new Map<string, SchemaTree | undefined>();

  constructor(schema: DocumentNode) {
    this.#schema = schema;
  }

  /** Returns the tree of a global element. */
  element(name: string): SchemaTree {
    return this.#typeOf(this.#find('element', name));
  }

  #find(kind: string, name: string): DocumentNode {
    const found = childrenOf(this.#schema, kind).find((node) => attribute(node, 'name') === name);
    if (found === undefined) throw new Error(`Cannot read ${kind} ${name}: it does not exist`);
    return found;
  }

  /** Returns the substitutes of the element; only the element itself if it has none. */
  #substitutes(name: string): string[] {
    const names = childrenOf(this.#schema, 'element')
      .filter((node) => withoutPrefix(attribute(node, 'substitutionGroup') ?? '') === name)
      .map((node) => attribute(node, 'name') ?? '');
    const [own] = childrenOf(this.#schema, 'element').filter(
      (node) => attribute(node, 'name') === name,
    );
    const isAbstract = own !== undefined && attribute(own, 'abstract') === 'true';
    return isAbstract || names.length > 0 ? names : [name];
  }

  /** Returns the type of an element or attribute, named or inline; any text if it has no type. */
  #typeOf(node: DocumentNode): SchemaTree {
    const name = attribute(node, 'type');
    if (name !== undefined) return this.#type(name);
    const [own] = [...childrenOf(node, 'complexType'), ...childrenOf(node, 'simpleType')];
    if (own !== undefined) return this.#content(own);
    return leafTree('s');
  }

  #type(name: string): SchemaTree {
    if (name.startsWith('xs:')) return leafTree(builtIn(name));
    const known = this.#types.get(name);
    if (known !== undefined) return known;
    if (this.#types.has(name)) throw new Error(`Cannot read type ${name}: it contains itself`);
    this.#types.set(name, undefined);
    const kinds = ['complexType', 'simpleType'];
    const found = kinds
      .flatMap((kind) => childrenOf(this.#schema, kind))
      .find((node) => attribute(node, 'name') === name);
    if (found === undefined) throw new Error(`Cannot read type ${name}: it does not exist`);
    const tree = this.#content(found);
    this.#types.set(name, tree);
    return tree;
  }

  /** Returns the content of a type's definition, with nested definitions. */
  #content(node: DocumentNode): SchemaTree {
    let tree = emptyTree();
    for (const { name, node: child } of node.entries) {
      switch (withoutPrefix(name)) {
        case 'sequence':
        case 'choice':
        case 'all':
          tree = merged(tree, this.#group(child));
          break;
        case 'complexContent':
        case 'simpleContent':
          tree = merged(tree, this.#content(child));
          break;
        case 'extension':
          tree = merged(tree, this.#type(attribute(child, 'base') ?? ''));
          tree = merged(tree, this.#content(child));
          break;
        case 'restriction':
          tree = merged(tree, this.#restriction(child));
          break;
        case 'attribute':
          tree.children.set(`@${attribute(child, 'name')}`, this.#typeOf(child));
          break;
      }
    }
    return tree;
  }

  #group(node: DocumentNode): SchemaTree {
    let tree = this.#content(node);
    if (childrenOf(node, 'any').length > 0) tree.isOpen = true;
    for (const element of childrenOf(node, 'element')) {
      const repeats = isRepeated(element) || isRepeated(node);
      const reference = withoutPrefix(attribute(element, 'ref') ?? '');
      const own = attribute(element, 'name');
      for (const name of own === undefined ? this.#substitutes(reference) : [own]) {
        const child = own === undefined ? this.element(name) : this.#typeOf(element);
        const children = new Map([[name, { ...child, repeats }]]);
        tree = merged(tree, { ...emptyTree(), children });
      }
    }
    return tree;
  }

  /** Returns a type with fewer values, or with other content. */
  #restriction(node: DocumentNode): SchemaTree {
    const words = childrenOf(node, 'enumeration').map((each) => attribute(each, 'value') ?? '');
    if (words.length > 0) return leafTree(words.join('|'));
    const base = this.#type(attribute(node, 'base') ?? '');
    const [type = ''] = base.types;
    const range = /^([in])(?:(-?\d+)?\.\.(\d+)?)?$/.exec(type);
    if (range === null) return merged(base, this.#content(node));
    const bound = (kind: string, before: string | undefined): number | undefined => {
      const [facet] = childrenOf(node, kind);
      const text = facet === undefined ? before : attribute(facet, 'value');
      return text === undefined ? undefined : Number(text);
    };
    const minimum = bound('minInclusive', range[2]);
    return leafTree(
      rangeType(range[1] === 'i' ? 'i' : 'n', minimum, bound('maxInclusive', range[3])),
    );
  }
}

function builtIn(name: string): string {
  const type = BUILT_IN[withoutPrefix(name)];
  if (type === undefined) throw new Error(`Cannot read type ${name}: an unknown built-in type`);
  return type;
}

function isRepeated(node: DocumentNode): boolean {
  const maximum = attribute(node, 'maxOccurs') ?? '1';
  return maximum === 'unbounded' || Number(maximum) > 1;
}

function childrenOf(node: DocumentNode, kind: string): DocumentNode[] {
  const isKind = ({ name }: DocumentEntry) => !name.startsWith('@') && withoutPrefix(name) === kind;
  return node.entries.filter(isKind).map((entry) => entry.node);
}

function attribute(node: DocumentNode, name: string): string | undefined {
  return node.entries.find((entry) => entry.name === `@${name}`)?.node.text;
}

function withoutPrefix(name: string): string {
  return name.replace(/^[^@:]*:/, '');
}
