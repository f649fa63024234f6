import { clientVariables } from '../client/variables.ts'
import { HISTORY_ENTRIES_DEFAULT, HISTORY_ENTRIES_MAX } from '../limits.ts'
import type { OptionSpec } from '../service/option-spec.ts'
import { parseChoice, parsePath, parseSwitch } from '../service/option-values.ts'
import { sortFields } from '../store/configuration-index.ts'
import { parseLabel, parseLimit, parseShownField, parseTag, shownFields } from './client-values.ts'

const sorts = sortFields.flatMap((field) => [field, `-${field}`])

/** What can be set of the commands that call a server. Some flags mean another thing to another command. */
export const clientOptionSpecs = {
  /** A URL, `unix:PATH`, or the host of a kept login. */
  server: {
    flag: '--server',
    placeholder: 'URL',
    help: 'the server: a URL, unix:PATH, or the host of a login that is kept',
    isOfCommand: true,
    lastVariable: clientVariables.server,
    parse: (text) => (text.startsWith('unix:') ? `unix:${parsePath(text.slice(5), 'unix:')}` : text),
  },
  authority: {
    flag: '--ca',
    placeholder: 'FILE',
    help: 'PEM file of a certificate authority to trust as well',
    isOfCommand: true,
    lastVariable: clientVariables.authority,
    parse: parsePath,
  },
  plain: {
    flag: '--plain',
    help: 'send the credential over plain HTTP, where others on the network can read it',
    isOfCommand: true,
    parse: parseSwitch,
  },
  noRetry: {
    flag: '--no-retry',
    help: 'do not try again when the server is busy (429, 503)',
    isOfCommand: true,
    parse: parseSwitch,
  },
  json: {
    flag: '--json',
    help: 'print JSON, one object a line',
    isOfCommand: true,
    parse: parseSwitch,
  },
  names: {
    flag: '--names',
    help: 'print names alone, one a line',
    isOfCommand: true,
    parse: parseSwitch,
  },
  field: {
    flag: '--field',
    placeholder: 'FIELD',
    help: `print one value: ${shownFields.join(', ')} or labels.KEY`,
    isOfCommand: true,
    parse: parseShownField,
  },
  tag: {
    flag: '--tag',
    help: 'print the ETag, for --if-match',
    isOfCommand: true,
    parse: parseSwitch,
  },
  ifMatch: {
    flag: '--if-match',
    placeholder: 'TAG',
    help: 'change the record only if it still has this ETag, as get --tag printed it',
    isOfCommand: true,
    parse: parseTag,
  },
  sort: {
    flag: '--sort',
    placeholder: 'FIELD',
    help: `order by ${sortFields.join(', ')}; with "-" before it, falling`,
    otherwise: 'in the order in which they were added',
    isOfCommand: true,
    choices: sorts,
    parse: (text) => parseChoice(text, sorts),
  },
  prefix: {
    flag: '--prefix',
    placeholder: 'TEXT',
    help: 'only records whose name begins so',
    isOfCommand: true,
    parse: (text) => text,
  },
  /** A filter. */
  named: {
    flag: '--name',
    placeholder: 'NAME',
    help: 'only the record with this name',
    isOfCommand: true,
    parse: (text) => text,
  },
  newName: {
    flag: '--name',
    placeholder: 'NEW',
    help: 'another name',
    isOfCommand: true,
    parse: (text) => text,
  },
  hostname: {
    flag: '--hostname',
    placeholder: 'HOST',
    help: 'host name or address',
    isOfCommand: true,
    parse: (text) => text,
  },
  /** Checked by the server, as all fields are. */
  recordPort: {
    flag: '--port',
    placeholder: 'PORT',
    help: 'port',
    isOfCommand: true,
    parse: (text) => text,
  },
  username: {
    flag: '--username',
    placeholder: 'USER',
    help: 'username',
    isOfCommand: true,
    parse: (text) => text,
  },
  /** A filter. */
  withLabel: {
    flag: '--label',
    placeholder: 'KEY[=VALUE]',
    help: 'only records with this label; may be repeated',
    isOfCommand: true,
    isList: true,
    parse: (text) => text,
  },
  label: {
    flag: '--label',
    placeholder: 'KEY=VALUE',
    help: 'set this label; may be repeated',
    isOfCommand: true,
    isList: true,
    parse: parseLabel,
  },
  noLabel: {
    flag: '--no-label',
    placeholder: 'KEY',
    help: 'remove this label; may be repeated',
    isOfCommand: true,
    isList: true,
    parse: (text) => text,
  },
  create: {
    flag: '--create',
    help: 'add the record if it is missing, or replace all of it; needs all fields',
    isOfCommand: true,
    parse: parseSwitch,
  },
  print: {
    flag: '--print',
    help: 'show the command line, and do not run it',
    isOfCommand: true,
    parse: parseSwitch,
  },
  limit: {
    flag: '--limit',
    placeholder: 'COUNT',
    help: `how many changes, from 1 to ${HISTORY_ENTRIES_MAX}`,
    default: String(HISTORY_ENTRIES_DEFAULT),
    isOfCommand: true,
    parse: parseLimit,
  },
  loginUser: {
    flag: '--user',
    placeholder: 'NAME',
    help: 'the user who logs in',
    otherwise: 'asked on the terminal',
    isOfCommand: true,
    parse: (text) => text,
  },
} satisfies Record<string, OptionSpec & { isOfCommand: true }>
