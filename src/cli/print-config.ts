/**
 * `gridnode config`: prints the configuration that a member would have, without starting one.
 * Tested by output.spec.ts.
 */

import { linesOf } from '../config/finding.ts';
import { exampleFile } from '../member/describe.ts';
import { explainAsJson, explainAsYaml } from '../member/explain.ts';
import type { ConfigRequest } from '../member/load.ts';
import { memoryWarning } from '../member/memory-defaults.ts';
import { EXIT_CLEAN, type ExitCode } from './exit-code.ts';
import { print, type Streams } from './output.ts';
import { loadShown } from './progress.ts';

interface Printing {
  readonly json?: true;
  readonly example?: true;
}

/**
 * Prints a setting that `serve` would refuse with the reason. Rejects with ConfigFault or
 * OutputError.
 */
export async function printConfig(
  request: ConfigRequest,
  printing: Printing,
  streams: Streams,
): Promise<ExitCode> {
  if (printing.example) {
    await print(streams, exampleFile());
    return EXIT_CLEAN;
  }
  const loaded = await loadShown(request, streams);
  await print(streams, printing.json ? explainAsJson(loaded) : explainAsYaml(loaded));
  const memory = memoryWarning(loaded.config) ?? [];
  for (const warning of linesOf(loaded.findings, 'warning').concat(memory))
    streams.stderr.write(`${warning}\n`);
  return EXIT_CLEAN;
}
