/**
 * Puts the program and what it imports into few files, dist/bin/gridnode.js and dist/src: Node takes
 * longer to find and open hundreds of small ones than to compile them. What is loaded only when it is
 * needed stays in files of its own. Nothing is shortened: a stack trace names functions as written,
 * and with NODE_OPTIONS=--enable-source-maps files and lines, too.
 */
import { build } from 'esbuild';

await build({
  entryPoints: ['bin/gridnode.ts', 'src/index.ts'],
  outbase: '.',
  outdir: 'dist',
  chunkNames: 'src/[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.20',
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
  // Packages of the older module form ask for Node's own modules by `require`.
  banner: {
    js: "import { createRequire as $require } from 'node:module'; const require = $require(import.meta.url);",
  },
});
