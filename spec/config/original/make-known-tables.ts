/**
 * Writes the tables of known settings, src/config/known-*.ts, from the schemas in the original's
 * jars with `make known-tables JARS=DIR`. DIR contains its jars of all supported versions, 5.0 to
 * 5.7. Faults of the schemas are corrected in adjustments.ts. Another run with the same jars
 * changes nothing.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Form } from '../../../src/config/document-schema.ts';
import { adjusted } from './adjustments.ts';
import { type Notation, notationOf } from './notation.ts';
import { treesOfJars } from './schemas.ts';

const CONFIG = join(import.meta.dirname, '../../../src/config');
const WRITTEN = 'Written by `make known-tables`: see spec/config/original.';

const [folder] = process.argv.slice(2);
if (folder === undefined || folder === '') {
  console.error('Cannot make tables: specify the folder of the jars: make known-tables JARS=DIR');
  process.exitCode = 2;
} else {
  const trees = adjusted(treesOfJars(folder));
  write('yaml', notationOf(trees.yaml, 'yaml'));
  write('xml', notationOf(trees.xml, 'xml'));
}

function write(form: Form, { shapes, settings }: Notation): void {
  const inForm = form.toUpperCase();
  writeFileSync(
    join(CONFIG, `original-shapes-${form}.ts`),
    sourceText(
      `Words and shapes that several settings share in ${inForm}.\n * ${WRITTEN}`,
      `${inForm}_SHAPES`,
      shapes,
    ),
  );
  writeFileSync(
    join(CONFIG, `original-settings-${form}.ts`),
    sourceText(
      `Every setting that a member file of the original accepts in ${inForm}, in the notation that\n` +
        ' * document-schema.ts reads. It has only names and types: settings.ts lists the used settings,\n' +
        ' * refused-settings.ts those that are refused; all others have no effect.\n' +
        ` * ${WRITTEN}`,
      `${inForm}_SETTINGS`,
      settings,
    ),
  );
}

function sourceText(comment: string, name: string, notation: string): string {
  return `/**\n * ${comment}\n */\nexport const ${name} = \`\n${notation}\n\`;\n`;
}
