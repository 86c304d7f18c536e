/**
 * Converts an XML schema to a JSON schema, with `@` before the names of attributes. Number and order
 * of children are omitted, except whether an element may repeat.
 */
import type { DocumentEntry, DocumentNode } from '../../../src/config/document.ts';
import { parseXml } from '../../../src/config/xml-document.ts';
import { type JsonSchema, section } from './json-schema.ts';

/** A schema; `true` accepts anything. */
type Part = JsonSchema | true;

/** Returns a schema whose properties are the global elements. */
export function jsonSchemaOf(text: string): JsonSchema {
  const { root, problems } = parseXml(text, 'schema');
  if (root === undefined) throw new Error(`Cannot read schema: ${problems.listed[0]?.message}`);
  const converter = new Converter(childrenOf(root.node, 'element'));
  const named = (kind: string, convert: (node: DocumentNode) => Part) =>
    childrenOf(root.node, kind).map((node) => [attribute(node, 'name'), convert(node)]);
  const content = (node: DocumentNode) => converter.content(node);
  const types = [...named('complexType', content), ...named('simpleType', content)];
  return {
    properties: Object.fromEntries(named('element', (node) => converter.type(node))),
    definitions: Object.fromEntries(types),
  };
}

/** The built-in types of XML Schema, by name. */
const BUILT_IN: Readonly<Record<string, Part>> = {
  string: { type: 'string' },
  anyURI: { type: 'string' },
  boolean: { type: 'boolean' },
  byte: { type: 'integer', minimum: -128, maximum: 127 },
  unsignedByte: { type: 'integer', minimum: 0, maximum: 255 },
  short: { type: 'integer', minimum: -32_768, maximum: 32_767 },
  unsignedShort: { type: 'integer', minimum: 0, maximum: 65_535 },
  int: { type: 'integer' },
  integer: { type: 'integer' },
  long: { type: 'integer' },
  unsignedInt: { type: 'integer', minimum: 0 },
  unsignedLong: { type: 'integer', minimum: 0 },
  nonNegativeInteger: { type: 'integer', minimum: 0 },
  positiveInteger: { type: 'integer', minimum: 1 },
  decimal: { type: 'number' },
  double: { type: 'number' },
  float: { type: 'number' },
  anyType: true,
};

class Converter {
  /** The global elements. */
  readonly #elements: readonly DocumentNode[];

  constructor(elements: readonly DocumentNode[]) {
    this.#elements = elements;
  }

  /** Returns the type of an element or attribute, named or inline; any text if it has no type. */
  type(node: DocumentNode): Part {
    const name = attribute(node, 'type');
    if (name !== undefined) return typeOfName(name);
    const [own] = [...childrenOf(node, 'complexType'), ...childrenOf(node, 'simpleType')];
    return own === undefined ? { type: 'string' } : this.content(own);
  }

  /** Returns the content of a type's definition, with nested definitions. */
  content(node: DocumentNode): JsonSchema {
    const parts = node.entries.flatMap<Part>(({ name, node: child }) => {
      switch (withoutPrefix(name)) {
        case 'sequence':
        case 'choice':
        case 'all':
          return this.#group(child);
        case 'complexContent':
        case 'simpleContent':
          return this.content(child);
        case 'extension':
          return [typeOfName(attribute(child, 'base') ?? ''), this.content(child)];
        case 'restriction':
          return this.#restriction(child);
        case 'attribute':
          return section({ [`@${attribute(child, 'name')}`]: this.type(child) });
        default:
          return [];
      }
    });
    return { allOf: [section({}), ...parts] };
  }

  #group(node: DocumentNode): JsonSchema[] {
    const elements = childrenOf(node, 'element').flatMap<JsonSchema>((element) => {
      const repeats = isRepeated(element) || isRepeated(node);
      const own = attribute(element, 'name');
      if (own !== undefined) return section({ [own]: { allOf: [this.type(element)], repeats } });
      return this.#substitutes(withoutPrefix(attribute(element, 'ref') ?? '')).map((name) =>
        section({ [name]: { allOf: [{ $ref: `#/properties/${name}` }], repeats } }),
      );
    });
    const isOpen = childrenOf(node, 'any').length > 0;
    return [this.content(node), { properties: {}, additionalProperties: isOpen }, ...elements];
  }

  /** Returns the substitutes of the element; only the element itself if it has none. */
  #substitutes(name: string): string[] {
    const names = this.#elements
      .filter((node) => withoutPrefix(attribute(node, 'substitutionGroup') ?? '') === name)
      .map((node) => attribute(node, 'name') ?? '');
    const own = this.#elements.find((node) => attribute(node, 'name') === name);
    const isAbstract = own !== undefined && attribute(own, 'abstract') === 'true';
    return isAbstract || names.length > 0 ? names : [name];
  }

  /** Returns a type with fewer values, or with other content. */
  #restriction(node: DocumentNode): JsonSchema {
    const words = childrenOf(node, 'enumeration').map((each) => attribute(each, 'value') ?? '');
    if (words.length > 0) return { enum: words };
    const base = typeOfName(attribute(node, 'base') ?? '');
    const bounds = [
      ['minimum', 'minInclusive'],
      ['maximum', 'maxInclusive'],
    ].flatMap(([keyword, kind = '']) =>
      childrenOf(node, kind).map((facet) => [keyword, Number(attribute(facet, 'value'))]),
    );
    if (bounds.length === 0) return { allOf: [base, this.content(node)] };
    if (base === true || base.$ref) throw new Error('Cannot read bounds of a type that has a name');
    return { ...base, ...Object.fromEntries(bounds) };
  }
}

function typeOfName(name: string): Part {
  if (!name.startsWith('xs:')) return { $ref: `#/definitions/${name}` };
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
