/**
 * Reads a JSON schema (draft 6) as a tree of known names. The tree accepts every alternative, and
 * omits rules that only forbid combinations.
 */
import {
  emptyTree,
  leafTree,
  merged,
  NAME_ONLY,
  rangeType,
  type SchemaTree,
} from './schema-tree.ts';

/** The keywords that define names and types. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchema | boolean>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly patternProperties?: Readonly<Record<string, JsonSchema | boolean>>;
  readonly propertyNames?: { readonly enum?: readonly string[] };
  readonly items?: JsonSchema;
  readonly enum?: readonly (string | number | boolean)[];
  readonly const?: string | number | boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly allOf?: readonly (JsonSchema | boolean)[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  /** In a converted XML schema: whether the element may occur more than once. */
  readonly repeats?: boolean;
  readonly [keyword: string]: unknown;
}

/** Returns a section with only these names. */
export function section(properties: JsonSchema['properties'] = {}): JsonSchema {
  return { type: 'object', properties, additionalProperties: false };
}

/** Returns the tree below the root of this name. */
export function treeOfJsonSchema(document: JsonSchema, root: string): SchemaTree {
  return new JsonSchemaReader(document).read({ $ref: `#/properties/${root}` });
}

class JsonSchemaReader {
  readonly #document: JsonSchema;
  /** Trees by reference; undefined while a tree is being read. */
  readonly #referred = new Map<string, SchemaTree | undefined>();

  constructor(document: JsonSchema) {
    this.#document = document;
  }

  read(schema: JsonSchema | boolean): SchemaTree {
    if (typeof schema === 'boolean' || !definesType(schema)) return leafTree('a');
    if (schema.$ref !== undefined) return this.#refer(schema.$ref);
    let tree = this.#readOwn(schema);
    for (const part of alternativesOf(schema)) tree = merged(tree, this.read(part));
    return schema.repeats === undefined ? tree : { ...tree, repeats: schema.repeats };
  }

  #refer(reference: string): SchemaTree {
    const known = this.#referred.get(reference);
    if (known !== undefined) return known;
    if (this.#referred.has(reference))
      throw new Error(`Cannot read ${reference}: it contains itself`);
    this.#referred.set(reference, undefined);
    let target: unknown = this.#document;
    for (const step of reference.replace(/^#\//, '').split('/')) {
      target = (target as Readonly<Record<string, unknown>> | undefined)?.[step];
    }
    if (target === undefined) throw new Error(`Cannot read ${reference}: it does not exist`);
    const tree = this.read(target as JsonSchema);
    this.#referred.set(reference, tree);
    return tree;
  }

  #readOwn(schema: JsonSchema): SchemaTree {
    const tree = emptyTree();
    const type = valueType(schema);
    if (type !== undefined) tree.types.add(type);
    if (schema.items !== undefined) tree.item = this.read(schema.items);
    this.#readNames(schema, tree);
    return tree;
  }

  #readNames(schema: JsonSchema, tree: SchemaTree): void {
    const { properties, patternProperties = {}, additionalProperties } = schema;
    for (const [name, property] of Object.entries(properties ?? {})) {
      tree.children.set(name, this.read(property));
    }
    const others = Object.values(patternProperties).filter(definesType);
    if (typeof additionalProperties === 'object' && definesType(additionalProperties)) {
      others.push(additionalProperties);
    }
    for (const other of others) {
      const named = this.read(other);
      tree.named = tree.named === undefined ? named : merged(tree.named, named);
    }
    if (properties === undefined && tree.named === undefined && tree.item === undefined) {
      if (schema.type === 'object' && alternativesOf(schema).length === 0) tree.types.add('o');
      return;
    }
    // Names that are allowed and about which this part specifies nothing else.
    for (const name of schema.propertyNames?.enum ?? []) {
      if (!tree.children.has(name)) tree.children.set(name, tree.named ?? NAME_ONLY);
    }
    const isClosed = additionalProperties === false || tree.named !== undefined;
    if (properties !== undefined && !isClosed) tree.isOpen = true;
  }
}

/** Returns the parts that define names or types. */
function alternativesOf({ allOf = [], anyOf = [], oneOf = [] }: JsonSchema) {
  return [...allOf, ...anyOf, ...oneOf].filter(definesType);
}

function definesType(schema: JsonSchema | boolean): boolean {
  if (typeof schema === 'boolean') return schema;
  const { type, items } = schema;
  if (schema.$ref !== undefined || schema.enum !== undefined || schema.const !== undefined)
    return true;
  return (
    type !== undefined ||
    items !== undefined ||
    definesNames(schema) ||
    alternativesOf(schema).length > 0
  );
}

function definesNames({ properties, additionalProperties }: JsonSchema): boolean {
  if (properties !== undefined) return true;
  return typeof additionalProperties === 'object' && definesType(additionalProperties);
}

function valueType({ type, enum: words, const: only, minimum, maximum }: JsonSchema) {
  if (typeof only === 'number') return rangeType('i', only, only);
  if (words !== undefined) return words.join('|');
  switch (type) {
    case 'string':
      return 's';
    case 'boolean':
      return 'b';
    case 'integer':
      return rangeType('i', minimum, maximum);
    case 'number':
      return rangeType('n', minimum, maximum);
    default:
      return undefined;
  }
}
