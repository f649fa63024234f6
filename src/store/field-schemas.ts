import type { JsonSchema } from '../json-schema.ts'
import {
  HOSTNAME_CHARACTERS_MAX,
  NAME_CHARACTERS_MAX,
  PORT_MAX,
  PORT_MIN,
  USERNAME_CHARACTERS_MAX,
} from '../limits.ts'

/** The characters of Unicode category Cc, in ranges: not every validator knows `\p`. */
const CONTROLS = '\\u0000-\\u001f\\u007f-\\u009f'
/** Other characters of ASCII than those of a DNS name. */
const NOT_IN_DNS = '\\u0000-,/:-@[-^`{-\\u009f'

export const nameSchema: JsonSchema = {
  ...textSchema(NAME_CHARACTERS_MAX),
  description:
    'Unique and case sensitive. Any Unicode but control characters and lone surrogates; neither `.` nor `..`.',
  pattern: `^(?!\\.{1,2}$)[^${CONTROLS}]*$`,
  examples: ['web1'],
}

export const hostnameSchema: JsonSchema = {
  ...textSchema(HOSTNAME_CHARACTERS_MAX),
  description:
    'A DNS name, an IPv4 address, or an IPv6 address with or without brackets; no port. A DNS name has labels of 1 to 63 characters that neither begin nor end with `-`, the last not all digits; an international name must convert to ASCII.',
  pattern: `^(?:[^${NOT_IN_DNS}]+|\\[?(?=[^:]*:[^:]*:)[0-9A-Fa-f:.]+(?:%[^${CONTROLS} ]+)?\\]?)$`,
  examples: ['web1.example.net'],
}

export const portSchema: JsonSchema = {
  type: 'integer',
  minimum: PORT_MIN,
  maximum: PORT_MAX,
  description: 'An integer; `"22"` is a string.',
  examples: [22],
}

export const usernameSchema: JsonSchema = {
  ...textSchema(USERNAME_CHARACTERS_MAX),
  description: 'Any Unicode but control characters and lone surrogates.',
  examples: ['deploy'],
}

/** What `checkText` demands. */
function textSchema(charactersMax: number): JsonSchema {
  return { type: 'string', minLength: 1, maxLength: charactersMax, pattern: `^[^${CONTROLS}]*$` }
}
