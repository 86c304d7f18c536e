/**
 * `gridnode config`: prints the configuration that a member would have, without starting one.
 * Tested by output.spec.ts.
 */

import { isUnused, lineOf, linesOf, type UnusedFinding } from '../config/finding.ts';
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
 * Prints a setting that `serve` would refuse with the reason. The warnings follow on standard error:
 * functions that the file asks for and the member does not have, settings without meaning, and
 * others. Rejects with ConfigFault or OutputError.
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
  const memory = memoryWarning(loaded.config);
  const unused = loaded.findings.filter(isUnused);
  const others = loaded.findings.filter((each) => !isUnused(each));
  const lines = [
    ...underHeading(
      LOST,
      unused.filter(({ isLoss }) => isLoss),
    ),
    ...underHeading(
      MEANINGLESS,
      unused.filter(({ isLoss }) => !isLoss),
    ),
    ...linesOf(others, 'warning'),
    ...(memory === undefined ? [] : [memory]),
  ];
  for (const line of lines) streams.stderr.write(`${line}\n`);
  return EXIT_CLEAN;
}

const LOST = 'Lost, because this member has no such function:';
const MEANINGLESS = 'Ignored, because these settings have no meaning here:';

function underHeading(heading: string, findings: readonly UnusedFinding[]): string[] {
  if (findings.length === 0) return [];
  const lines = findings.map(({ place, listed }) => lineOf({ place, message: listed }));
  return [heading, ...lines.map((line) => `  ${line}`)];
}
