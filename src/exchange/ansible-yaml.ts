/** YAML limits a key without `?` to 1024 characters. */
const PLAIN_KEY_CHARACTERS_MAX = 1000

/** A text as the key of a mapping, up to its colon. */
export function yamlKey(text: string, indentation: string): string {
  const key = quoteYaml(text)
  return key.length > PLAIN_KEY_CHARACTERS_MAX
    ? `${indentation}? ${key}\n${indentation}:`
    : `${indentation}${key}:`
}

/**
 * A double-quoted YAML text; its escapes include those of JSON (YAML 1.2 section 5.7). YAML would fold the line
 * separators, and forbids the other characters unescaped.
 */
export function quoteYaml(text: string): string {
  return JSON.stringify(text).replace(
    /[\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16)}`,
  )
}
