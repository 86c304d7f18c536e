/**
 * Placeholders in a file's values: `${NAME}` is the environment variable of exactly that name, or
 * else of the name in upper case; `${NAME:text}` is `text` where neither is set. One that stands for
 * nothing stays as it is.
 */

export interface Replaced {
  readonly text: string;
  /** Names that stand for nothing. */
  readonly unset: readonly string[];
}

export function replacePlaceholders(text: string, environment: NodeJS.ProcessEnv): Replaced {
  const unset: string[] = [];
  const replaced = text.replace(
    /\$\{([^{}:]+)(?::([^{}]*))?\}/g,
    (whole, name: string, fallback) => {
      const value =
        variable(environment, name) ?? variable(environment, name.toUpperCase()) ?? fallback;
      if (value === undefined) unset.push(name);
      return value ?? whole;
    },
  );
  return { text: replaced, unset };
}

/** What every object has is no variable. */
function variable(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  return Object.hasOwn(environment, name) ? environment[name] : undefined;
}
