/** The encodings of a file, and the place of a byte that is invalid in its encoding. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileText } from '../../src/config/file-text.ts';
import { lineOf } from '../../src/config/finding.ts';
import { FindingList } from '../../src/config/finding-list.ts';

function read(file: string, bytes: Uint8Array): string {
  const problems = new FindingList();
  const read = fileText(file, bytes, problems);
  const listed = problems.listed.map(lineOf);
  if (read === undefined) return listed.join('\n');
  assert.deepEqual(listed, []);
  return `${read.form} ${read.text}`;
}

const latin = (text: string) => Buffer.from(text, 'latin1');
const xml = (encoding: string, more = '<grid/>') =>
  `<?xml version="1.0" encoding="${encoding}" standalone="yes"?>\n${more}`;
const MARK = latin('\xef\xbb\xbf');

test('fileText reads UTF-8, with or without a byte order mark, in the form that the name or the text indicates', () => {
  assert.equal(read('a.yaml', Buffer.from('é𝄞�')), 'yaml é𝄞�');
  assert.equal(read('a', Buffer.from('grid: {}')), 'yaml grid: {}');
  assert.equal(read('a', Buffer.from(' \n<grid/>')), 'xml  \n<grid/>');
  assert.equal(read('a', Buffer.concat([MARK, Buffer.from('<é/>')])), 'xml <é/>');
  assert.equal(read('a.XML', Buffer.alloc(0)), 'xml ');
});

test('fileText uses the encoding that an XML file declares', () => {
  const taken = ['UTF-8', 'utf-8', 'ISO-8859-1', 'iso-8859-1', 'US-ASCII', 'us-ascii'];
  for (const name of taken) {
    assert.equal(read('a.xml', latin(xml(name))), `xml ${xml(name)}`);
  }
  const text = xml('iso-8859-1', '<grid>\xe9</grid>');
  assert.equal(read('a', latin(text)), `xml ${text}`);
  const single = "<?xml version='1.0' encoding = 'ISO-8859-1' ?><grid>\xe9</grid>";
  assert.equal(read('a.xml', latin(single)), `xml ${single}`);
  // In other files, the declaration is ordinary text.
  assert.match(read('a.yaml', latin(text)), /^a.yaml:2:7: Cannot read text: byte 0xE9 /);
});

test('fileText refuses every other encoding by name', () => {
  const known = 'UTF-8, ISO-8859-1 or US-ASCII';
  for (const name of ['UTF-16', 'windows-1252', 'ISO-8859-15', 'constructor']) {
    const wanted = `a.xml:1:31: Cannot use encoding "${name}": not ${known}`;
    assert.equal(read('a.xml', latin(xml(name))), wanted);
  }
  assert.equal(
    read('a.xml', Buffer.concat([MARK, latin(xml('ISO-8859-1'))])),
    'a.xml:1:31: Cannot use encoding "ISO-8859-1": not UTF-8, which the byte order mark of the file indicates',
  );
  const utf16 = Buffer.from(xml('UTF-16'), 'utf16le');
  const refused = (name: string) => `a.xml:1:1: Cannot read text: it is ${name}; write it as UTF-8`;
  for (const bytes of [utf16, Buffer.from(utf16).swap16()]) {
    assert.equal(read('a.xml', bytes), refused('UTF-16'));
  }
  const marked = Buffer.from('\ufeffgrid: {}', 'utf16le');
  assert.equal(read('a.xml', marked), refused('UTF-16'));
  assert.equal(read('a.xml', Buffer.from(marked).swap16()), refused('UTF-16'));
  assert.equal(read('a.xml', latin('\xff\xfe\0\0g\0\0\0')), refused('UTF-32'));
  assert.equal(read('a.xml', latin('\0\0\xfe\xff\0\0\0g')), refused('UTF-32'));
});

test('fileText reports the place of a byte that is invalid in the encoding', () => {
  const at = (bytes: Uint8Array, file = 'a.yaml') =>
    /^.*?:(\d+:\d+): Cannot read text: byte (0x..) at offset (\d+) is not valid (\S+)/
      .exec(read(file, bytes))
      ?.slice(1)
      .join(' ');
  assert.equal(at(latin('grid:\n  a: \xe9\n')), '2:6 0xE9 11 UTF-8');
  assert.equal(at(latin('\xff')), '1:1 0xFF 0 UTF-8');
  assert.equal(at(Buffer.concat([MARK, latin('a\xff')])), '1:2 0xFF 4 UTF-8');
  // Columns count letters, offsets count bytes: one letter has three bytes, one is truncated at the
  // end.
  assert.equal(at(Buffer.concat([Buffer.from('a\n€'), latin('\xe2\x82')])), '2:2 0xE2 5 UTF-8');
  // Surrogates, overlong forms, and values beyond Unicode.
  for (const wrong of ['\xed\xa0\x80', '\xc0\x80', '\xf4\x90\x80\x80', '\x80'.repeat(9)]) {
    const first = wrong.charCodeAt(0).toString(16).toUpperCase();
    assert.equal(at(latin(`ab${wrong}cd`)), `1:3 0x${first} 2 UTF-8`);
  }
  const ascii = xml('US-ASCII', '<grid>é</grid>');
  assert.equal(at(Buffer.from(ascii), 'a.xml'), '2:7 0xC3 65 US-ASCII');
  assert.match(read('a.xml', latin('<é/>')), /; in XML, .* encoding="ISO-8859-1".* names another/);
  assert.doesNotMatch(read('a.yaml', latin('é')), /in XML/);
});

test('fileText finds the invalid byte at any offset', () => {
  const letters = Buffer.from('aé€𝄞\n'.repeat(40));
  for (let offset = 0; offset <= letters.length; offset++) {
    const bytes = Buffer.concat([letters.subarray(0, offset), latin('\xff'), letters]);
    // An invalid byte within a letter makes the first byte of that letter invalid.
    let first = offset;
    while (first > 0 && ((letters[first] ?? 0) & 0xc0) === 0x80) first--;
    assert.match(read('a.yaml', bytes), new RegExp(` at offset ${first} is not valid UTF-8$`));
  }
});
