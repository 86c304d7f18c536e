/**
 * Covers spec/config/original. Conversion of a schema of the original to known settings, and
 * reading of the resulting notation.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type Form,
  readNotation,
  type SectionSchema,
} from '../../../src/config/document-schema.ts';
import { adjusted } from './adjustments.ts';
import { type JsonSchema, section, treeOfJsonSchema } from './json-schema.ts';
import { notationOf } from './notation.ts';
import { leafTree, merged, rangeType, type SchemaTree } from './schema-tree.ts';
import { jsonSchemaOf } from './xml-schema.ts';

/** Returns the notation of a member's file, by the definition of its root. */
function yamlNotation(root: JsonSchema, definitions: Record<string, JsonSchema> = {}): string {
  const tree = treeOfJsonSchema({ properties: { grid: root }, definitions }, 'grid');
  return written(tree, 'yaml');
}

/** Returns the notation of an XML schema. `body` defines `root`, the type of the file's root. */
function xmlNotation(body: string): string {
  const text = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
    <xs:element name="grid" type="root"/>${body}</xs:schema>`;
  return written(treeOfJsonSchema(jsonSchemaOf(text), 'grid'), 'xml');
}

function written(tree: SchemaTree, form: Form): string {
  const { shapes, settings } = notationOf(tree, form);
  return [...(shapes === '' ? [] : [shapes]), settings].join('\n');
}

/** Whether a text is a value of the setting at the path. */
function accepts(content: SectionSchema, path: readonly string[], text: string): boolean {
  const [step, ...more] = path;
  const { children, named, item } = content;
  const node = step === '[]' ? item : (children.get(step ?? '') ?? named);
  assert.ok(node, `no ${step}`);
  if (more.length > 0) return accepts(node.content, more, text);
  return node.types.some((type) => type.accepts(text));
}

describe('A JSON schema', () => {
  it('defines names, types with their ranges, words, lists and free names', () => {
    const root = section({
      name: { type: 'string' },
      port: { type: 'integer', minimum: 1, maximum: 9 },
      share: { type: 'number' },
      mode: { enum: ['ON', 'OFF'] },
      members: { type: 'array', items: { type: 'string' } },
      map: { additionalProperties: { $ref: '#/definitions/Map' } },
    });
    const map = section({ size: { type: 'integer', minimum: 0 }, fast: { type: 'boolean' } });
    assert.equal(
      yamlNotation(root, { Map: map }),
      '*: name=s port=i1..9 share=n mode=ON|OFF members[]=s\nmap{}: size=i0.. fast=b',
    );
  });

  it('makes a section open if other names are allowed, and accepts any value if it specifies none', () => {
    const open: JsonSchema = { type: 'object', properties: { enabled: { type: 'boolean' } } };
    const root = section({ aws: open, properties: { type: 'object' }, value: true });
    assert.equal(yamlNotation(root), '*: properties=o value=a\naws: enabled=b ...');
  });

  it('accepts every alternative, and names without a definition', () => {
    const root = section({
      ports: {
        anyOf: [
          { type: 'array', items: { type: 'string' } },
          { type: 'object', additionalProperties: { type: 'integer' } },
        ],
      },
      count: { anyOf: [{ const: 0 }, { type: 'integer', minimum: 3 }] },
      kinds: {
        type: 'object',
        properties: { jaas: { type: 'string' } },
        propertyNames: { enum: ['jaas', 'kerberos'] },
      },
    });
    assert.equal(
      yamlNotation(root),
      '*: count=i0..0,i3..\nports: []=s {}=i\nkinds: jaas=s kerberos=a ...',
    );
  });

  it('is refused if it refers to nothing or to itself', () => {
    const itself = { properties: { a: { $ref: '#/definitions/A' } } };
    assert.throws(() => yamlNotation(itself), /does not exist/);
    assert.throws(() => yamlNotation(itself, { A: itself }), /contains itself/);
  });
});

describe('An XML schema', () => {
  it('defines elements, attributes and texts', () => {
    const notation = xmlNotation(`
      <xs:complexType name="root"><xs:choice maxOccurs="unbounded">
        <xs:element name="name" type="xs:string"/><xs:element name="port" type="port"/>
      </xs:choice></xs:complexType>
      <xs:complexType name="port"><xs:simpleContent><xs:extension base="xs:unsignedShort">
        <xs:attribute name="auto" type="xs:boolean"/><xs:attribute name="text"/>
      </xs:extension></xs:simpleContent></xs:complexType>`);
    assert.equal(notation, '*: name=s\nport=i0..65535: @auto=b @text=s');
  });

  it('defines words and ranges of restricted types, and inherited content', () => {
    const notation = xmlNotation(`
      <xs:complexType name="root"><xs:complexContent><xs:extension base="base"><xs:sequence>
        <xs:element name="size"><xs:simpleType><xs:restriction base="xs:int">
          <xs:minInclusive value="1"/></xs:restriction></xs:simpleType></xs:element>
      </xs:sequence></xs:extension></xs:complexContent></xs:complexType>
      <xs:complexType name="base"><xs:attribute name="mode" type="mode"/></xs:complexType>
      <xs:simpleType name="mode"><xs:restriction base="xs:string">
        <xs:enumeration value="ON"/><xs:enumeration value="OFF"/></xs:restriction></xs:simpleType>`);
    assert.equal(notation, '*: @mode=ON|OFF size=i1..');
  });

  it('replaces an abstract element with its substitutes', () => {
    const notation = xmlNotation(`
      <xs:complexType name="root"><xs:sequence><xs:element ref="class"/></xs:sequence></xs:complexType>
      <xs:element name="class" abstract="true"/>
      <xs:element name="class-name" type="xs:string" substitutionGroup="class"/>
      <xs:element name="factory-class-name" type="xs:string" substitutionGroup="class"/>`);
    assert.equal(notation, '*: class-name=s factory-class-name=s');
  });

  it('is open if any element is allowed', () => {
    const notation = xmlNotation(`
      <xs:complexType name="root"><xs:sequence><xs:element name="aws" type="aws"/></xs:sequence></xs:complexType>
      <xs:complexType name="aws"><xs:sequence><xs:any minOccurs="0"/></xs:sequence>
        <xs:attribute name="enabled" type="xs:boolean"/></xs:complexType>`);
    assert.equal(notation, 'aws: @enabled=b ...');
  });
});

describe('Known names of several versions', () => {
  const types = (...texts: string[]) => [...texts.map(leafTree).reduce(merged).types].join(',');

  it('have the wider range, all words, and any text if one version accepts it', () => {
    assert.equal(types(rangeType('i', 1, 5), rangeType('i', 0)), 'i0..');
    assert.equal(types('i', 'i'), 'i');
    assert.equal(types('i0..0', 'i3..'), 'i0..0,i3..');
    assert.equal(types('ON|OFF', 'OFF|HALF'), 'ON|OFF|HALF');
    assert.equal(types('ON|OFF', 's'), 's');
    assert.equal(types('s', 'a'), 'a');
  });

  it('are the names of all versions', () => {
    const [older, newer] = [{ a: { type: 'string' } }, { b: { type: 'boolean' } }].map(
      (properties) => treeOfJsonSchema({ properties: { grid: section(properties) } }, 'grid'),
    );
    assert.equal(written(merged(newer!, older!), 'yaml'), '*: b=b a=s');
  });
});

describe('The notation', () => {
  const eviction = section({
    'eviction-policy': { enum: ['NONE', 'LEAST_RECENTLY_USED', 'LEAST_FREQUENTLY_USED'] },
    size: { type: 'integer', minimum: 0 },
    nested: { type: 'array', items: { type: 'array', items: { type: 'string' } } },
  });
  const root = section({ map: { additionalProperties: eviction }, cache: eviction });

  it('writes content that occurs at several places only once', () => {
    assert.equal(
      yamlNotation(root),
      '&map: eviction-policy=NONE|LEAST_RECENTLY_USED|LEAST_FREQUENTLY_USED size=i0.. nested[][]=s\n' +
        'map{}: &map\ncache: &map',
    );
  });

  it('is read back with the same meaning', () => {
    const content = readNotation(yamlNotation(root), 'yaml');
    for (const around of [['map', 'some'], ['cache']]) {
      assert.ok(accepts(content, [...around, 'eviction-policy'], 'least_recently_used'));
      assert.ok(!accepts(content, [...around, 'eviction-policy'], 'LRU'));
      assert.ok(!accepts(content, [...around, 'size'], '-1'));
      assert.ok(accepts(content, [...around, 'nested', '[]', '[]'], 'text'));
    }
  });

  it('breaks long lines and long words, and can still be read', () => {
    const words = Array.from({ length: 40 }, (_, index) => `WORD_NUMBER_${index}`);
    const names = Array.from({ length: 20 }, (_, index) => `a-long-name-${index}`);
    const properties = Object.fromEntries(names.map((name) => [name, { enum: words }]));
    const notation = yamlNotation(section({ section: section(properties) }));
    assert.ok(notation.split('\n').every((line) => line.length <= 100));
    const content = readNotation(notation, 'yaml');
    for (const name of names) assert.ok(accepts(content, ['section', name], 'WORD_NUMBER_39'));
  });
});

describe('Adjustments', () => {
  it('report a name that the schemas no longer contain', () => {
    const empty = treeOfJsonSchema({ properties: { grid: { properties: {} } } }, 'grid');
    assert.throws(() => adjusted({ yaml: empty, xml: empty }), /have no such name/);
  });
});
