/** The systems for whose clients responses are adapted where those of gridnode differ. */
export const COMPATIBILITIES = ['none', 'hazelcast'] as const;

export type Compatibility = (typeof COMPATIBILITIES)[number];

/** Parses a name in any case; returns undefined for an unknown one. */
export function parseCompatibility(text: string): Compatibility | undefined {
  const lower = text.toLowerCase();
  return COMPATIBILITIES.find((name) => name === lower);
}
